//! Kernels of shared libraries: `lib:PATH[:NAME]`, by the TVM-FFI C ABI.
//!
//! The arguments of the captured call are passed in order, the outputs last, in memory that the caller owns: tensors as
//! `DLTensor` pointers, scalars, None, texts, bytes, data types and devices as themselves, lists and tuples as arrays.
//! `libtvm_ffi.so` is loaded only for libraries that need it.
//!
//! A library runs in this process with all its rights; launch a library that you do not trust in a worker.

mod abi;
mod arguments;
mod error;
mod file;
mod load;
mod pages;
mod runtime;

use std::path::{Path, PathBuf};

use super::call::Call;
use super::device_call::DeviceCall;
use super::error::KernelError;
use super::launch::{Kernel, KernelIdentity, Launch};
use super::output::OutputBuffer;
use crate::TensorSpec;

use abi::{Any, SafeCall, index};
use arguments::Arguments;
use runtime::Runtime;

pub use super::error::Raised;
pub use error::{LibraryError, WrongFile};
pub use file::{LibraryFile, PREFIX};
pub use runtime::{raise, stream};

/// The environment variable with the path of `libtvm_ffi.so`, for when the loader does not find it by itself.
pub const RUNTIME_VARIABLE: &str = "PLIMSOLL_TVM_FFI";

/// A kernel of a shared library, loaded. The library is never unloaded: its threads, and whatever it registered, may
/// live on.
pub struct Library {
    path: PathBuf,
    name: String,
    call: SafeCall,
}

impl Library {
    /// Loads the library at `path` and its kernel `symbol`, or its only one.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn open(path: &Path, symbol: Option<&str>) -> Result<Self, LibraryError> {
        let file = LibraryFile::open(path)?;
        let name = file.select(symbol)?;
        let call = load::load(&file, &name)?;
        Ok(Self { path: path.to_owned(), name, call })
    }

    /// The identity of the kernel `symbol` of the library at `path`, without loading it.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn identity_of(path: &Path, symbol: Option<&str>) -> Result<KernelIdentity, LibraryError> {
        let name = LibraryFile::open(path)?.select(symbol)?;
        let digest = super::launch::file_digest(path)
            .map_err(|e| LibraryError::Unreadable { path: path.to_owned(), reason: e.to_string() })?;
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Ok(KernelIdentity::new(format!("lib:{file}:{name}"), Some(digest)))
    }

    /// Prepares a launch of `call` that can be repeated and timed. The launch returns once the kernel has put its work
    /// into a stream.
    ///
    /// # Errors
    /// [`KernelError`] if an argument cannot be passed to a kernel.
    pub fn bind_on_device<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<Launch<'a>, KernelError> {
        let arguments = Arguments::on_device(call)?;
        Ok(Box::new(move || {
            runtime::set_stream(call.device, call.stream);
            self.launch_on(call.params, call.outputs.len(), &arguments)
        }))
    }

    fn launch_on(&self, given: &[String], outputs: usize, arguments: &Arguments<'_>) -> Result<(), KernelError> {
        let values = arguments.values();
        let mut result = Any::NONE;
        // SAFETY: the symbol is one of the TVM-FFI ABI by its name, and the library is loaded for good. The arguments,
        // and what they point to, live until the call is over, and the result is set to None before, as the ABI
        // demands. Nothing guarantees that the kernel stays within its arguments; launching it tests this, and it runs
        // with this process's rights.
        let code = unsafe { (self.call)(std::ptr::null_mut(), values.as_ptr(), values.len() as i32, &raw mut result) };
        if code != 0 {
            let raised = runtime::take_raised();
            return Err(KernelError::Raised {
                kernel: self.name.clone(),
                code,
                raised,
                given: given.to_vec(),
                outputs,
            });
        }
        arguments.check(given)?;
        if result.type_index >= index::OBJECTS {
            if let Some(runtime) = Runtime::loaded() {
                runtime.drop_object(result.bits as usize as *mut _);
            }
            return Err(KernelError::ReturnsObject { kernel: self.name.clone(), type_index: result.type_index });
        }
        Ok(())
    }
}

impl Kernel for Library {
    fn identity(&self) -> KernelIdentity {
        Self::identity_of(&self.path, Some(&self.name)).unwrap_or_else(|_| {
            // The file was removed after it was loaded.
            KernelIdentity::new(format!("lib:{}:{}", self.path.display(), self.name), None)
        })
    }

    fn outputs(&self, call: &Call<'_>) -> Result<Vec<TensorSpec>, KernelError> {
        if call.outputs.is_empty() {
            return Err(KernelError::NoOutputs { kernel: self.name.clone() });
        }
        Ok(call.outputs.iter().map(|output| output.spec.clone()).collect())
    }

    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError> {
        self.bind(call, outputs)?()
    }

    fn bind<'a>(&'a self, call: &'a Call<'_>, outputs: &'a mut [OutputBuffer<'_>]) -> Result<Launch<'a>, KernelError> {
        let count = outputs.len();
        let arguments = Arguments::of(call, outputs)?;
        Ok(Box::new(move || self.launch_on(call.params, count, &arguments)))
    }
}
