//! [`LibraryError`]: why a shared library cannot be launched.

use std::path::PathBuf;

/// Why a file is not a shared library for this machine.
///
/// What to do: build the kernel for this machine with `-shared -fPIC`, and name the file that the linker wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongFile {
    /// The file is not a 64-bit ELF file.
    #[error("it is not a 64-bit ELF file (it reads as {0})")]
    Kind(String),
    /// The ELF file ends early or contradicts itself.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The library is built for another machine.
    #[error("it is built for {found}, and this machine is {this}")]
    Machine {
        /// The machine that it was built for.
        found: String,
        /// This machine.
        this: &'static str,
    },
    /// The file is a program, or the output of a compiler before linking.
    #[error("it is not linked as a shared library: link it with -shared -fPIC")]
    NotShared,
}

/// Why a shared library cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The file cannot be read.
    #[error("cannot read the kernel library {path}: {reason}; check the path", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file is not a shared library for this machine.
    #[error("kernel library {path} is not a shared library that can be loaded: {reason}", path = .path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// Why it is not one.
        reason: WrongFile,
    },
    /// The library exports no kernel with the ABI's prefix.
    #[error("kernel library {path} exports no kernel of the TVM-FFI ABI{told}: export one as `__tvm_ffi_NAME` (see \
        docs/kernels.md, or start from an example under harness/examples)", path = .path.display(),
        told = .plain.as_ref().map_or_else(String::new, |name| format!(", and `{name}` only as a plain function")))]
    NoKernels {
        /// The file.
        path: PathBuf,
        /// The requested name, if the library exports it as a plain function.
        plain: Option<String>,
    },
    /// The library exports several kernels, and none was named.
    #[error("kernel library {path} has several kernels: name one of {kernels}, as lib:PATH:NAME", path = .path.display())]
    SeveralKernels {
        /// The file.
        path: PathBuf,
        /// The names of the kernels.
        kernels: String,
    },
    /// The library does not export the requested kernel.
    #[error("kernel library {path} has no kernel `{name}`{plain}{closest}; it has {kernels}", path = .path.display(),
        plain = if *.plain { ", but a plain function of that name: export it as `__tvm_ffi_NAME`" } else { "" },
        closest = .closest.as_ref().map_or_else(String::new, |name| format!(" (is `{name}` meant?)")))]
    NoSuchKernel {
        /// The file.
        path: PathBuf,
        /// The requested name.
        name: String,
        /// Whether the name is exported as a plain function, without the ABI.
        plain: bool,
        /// A similar name that the library has.
        closest: Option<String>,
        /// The kernels that the library has.
        kernels: String,
    },
    /// The library needs the implementation of the ABI, which was not found.
    #[error("kernel library {path} needs libtvm_ffi.so ({needs}), which was not found: install it (pip install \
        apache-tvm-ffi) for the Python of --python, or name the file with PLIMSOLL_TVM_FFI; {reason}", path = .path.display())]
    RuntimeMissing {
        /// The file.
        path: PathBuf,
        /// The symbols that it needs from there.
        needs: String,
        /// The loader's error.
        reason: String,
    },
    /// The loader refused the library.
    #[error("kernel library {path} cannot be loaded: {reason}", path = .path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The error of the loader, or of the library's own setup.
        reason: String,
    },
}
