//! Kernels of shared libraries: `lib:PATH[:NAME]`, by the TVM-FFI C ABI.
//!
//! The arguments of the captured call are given in their order, the outputs last, in memory that the caller owns:
//! tensors as `DLTensor` pointers, scalars, None, texts, bytes, data types and devices as what they are, lists and
//! tuples as arrays. A library that needs `libtvm_ffi.so` gets it; one that does not runs without.
//!
//! A library runs in this process with all its rights: whoever does not trust it launches it in a worker.

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

pub use error::{LibraryError, WrongFile};
pub use file::{LibraryFile, PREFIX};
pub use runtime::{Raised, raise, stream};

/// Names the file of `libtvm_ffi.so` in the environment, where the loader does not find it by itself.
pub const RUNTIME_VARIABLE: &str = "PLIMSOLL_TVM_FFI";

/// A kernel of a shared library, loaded. It is never unloaded: its threads, and what it registered, may live on.
pub struct Library {
    path: PathBuf,
    name: String,
    call: SafeCall,
}

impl Library {
    /// Loads the library at `path`, and finds the kernel `symbol` in it, or its only one.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn open(path: &Path, symbol: Option<&str>) -> Result<Self, LibraryError> {
        let file = LibraryFile::open(path)?;
        let name = file.select(symbol)?;
        let call = load::load(&file, &name)?;
        Ok(Self { path: path.to_owned(), name, call })
    }

    /// The identity of the kernel `symbol` of the library at `path`, which is not loaded for it.
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

    /// A launch of `call` that can be repeated and timed. It returns once the kernel has put its work into a stream.
    ///
    /// # Errors
    /// [`KernelError`] where the arguments are not what a kernel can be given.
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
        // SAFETY: the symbol is one of the TVM-FFI ABI by its name, and the library is loaded for good. The arguments, and what
        // they point to, live until the call is over, and the result is set to None before, as the ABI demands. That the
        // kernel keeps to its arguments is what it is launched to show: it runs with this process's rights.
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
            // The file is gone since it was loaded.
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
