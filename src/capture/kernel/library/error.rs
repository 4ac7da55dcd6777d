//! [`LibraryError`]: why a shared library cannot be launched.

use std::path::PathBuf;

/// What a file is, where it is no shared library for this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongFile {
    /// No ELF file of 64 bits.
    #[error("it is no ELF file of 64 bits (it reads as {0})")]
    Kind(String),
    /// An ELF file that ends early or contradicts itself.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Built for another machine.
    #[error("it is built for {found}, and this machine is {this}")]
    Machine {
        /// What it was built for.
        found: String,
        /// What this is.
        this: &'static str,
    },
    /// A program, or what a compiler leaves before linking.
    #[error("it is not linked as a shared library: link it with -shared -fPIC")]
    NotShared,
}

/// Why a shared library cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The file cannot be read.
    #[error("kernel library {path}: {reason}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is no shared library for this machine.
    #[error("kernel library {path} is no shared library that can be loaded: {reason}", path = .path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// What it is.
        reason: WrongFile,
    },
    /// It exports nothing by the ABI.
    #[error("kernel library {path} exports no kernel of the TVM-FFI ABI{told}: export one as `__tvm_ffi_NAME` (see \
        docs/kernels.md, or start from an example under harness/examples)", path = .path.display(),
        told = .plain.as_ref().map_or_else(String::new, |name| format!(", and `{name}` only as a plain function")))]
    NoKernels {
        /// The file.
        path: PathBuf,
        /// The name asked for, where it is exported as a plain function.
        plain: Option<String>,
    },
    /// It exports several, and none was named.
    #[error("kernel library {path} has several kernels: name one of {kernels}, as lib:PATH:NAME", path = .path.display())]
    SeveralKernels {
        /// The file.
        path: PathBuf,
        /// Their names.
        kernels: String,
    },
    /// It does not export the one named.
    #[error("kernel library {path} has no kernel `{name}`{plain}{closest}; it has {kernels}", path = .path.display(),
        plain = if *.plain { ", but a plain function of that name: export it as `__tvm_ffi_NAME`" } else { "" },
        closest = .closest.as_ref().map_or_else(String::new, |name| format!(" (is `{name}` meant?)")))]
    NoSuchKernel {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// Whether it is exported without the ABI.
        plain: bool,
        /// A name that is much like it.
        closest: Option<String>,
        /// Those that it has.
        kernels: String,
    },
    /// It needs the implementation of the ABI, which was not found.
    #[error("kernel library {path} needs libtvm_ffi.so ({needs}), which was not found: install it (pip install \
        apache-tvm-ffi) for the Python of --python, or name the file with PLIMSOLL_TVM_FFI; {reason}", path = .path.display())]
    RuntimeMissing {
        /// The file.
        path: PathBuf,
        /// What it takes from there.
        needs: String,
        /// What the loader said.
        reason: String,
    },
    /// The loader refused it.
    #[error("kernel library {path} cannot be loaded: {reason}", path = .path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What the loader, or the library's own setup, said.
        reason: String,
    },
}
