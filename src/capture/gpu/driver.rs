//! [`Driver`]: the library of the NVIDIA driver, loaded at run time, and the functions called in it.
//!
//! A [`Driver`] exists only if the library is loaded, has every required function, and has started.

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::error::GpuError;
use super::functions::{Code, Functions};

/// The name that a driver installs; the name without a number may be a toolkit's stub.
const LIBRARY: &str = "libcuda.so.1";

/// The driver, loaded and started.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    functions: &'static Functions,
}

impl Driver {
    /// Loads the driver's library and starts it, once per process.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::OldDriver`], [`GpuError::Start`] or [`GpuError::NoDevice`].
    pub fn load() -> Result<Self, GpuError> {
        static LOADED: OnceLock<Result<Functions, GpuError>> = OnceLock::new();
        match LOADED.get_or_init(Self::start) {
            Ok(functions) => Ok(Self { functions }),
            Err(error) => Err(error.clone()),
        }
    }

    fn start() -> Result<Functions, GpuError> {
        // SAFETY: the library is the driver's own, whose setup starts nothing; it is never unloaded.
        let library = unsafe { Library::open(Some(LIBRARY), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| GpuError::NoDriver { reason: error.to_string() })?;
        let library = ManuallyDrop::new(library);
        // SAFETY: as above.
        let functions = unsafe { Functions::of(&library) }.map_err(|function| GpuError::OldDriver { function })?;
        // SAFETY: the function takes no flags.
        match unsafe { (functions.cuInit)(0) } {
            code if code.is_success() => Ok(functions),
            code if code.is(CUresult::CUDA_ERROR_NO_DEVICE) => Err(GpuError::NoDevice),
            other => {
                let (name, reason) = words(&functions, other);
                Err(GpuError::Start { name, reason })
            }
        }
    }

    /// The functions of the driver that are called.
    pub(super) fn functions(self) -> &'static Functions {
        self.functions
    }

    /// The newest version of CUDA that the driver supports, as `12.4`.
    pub fn cuda_version(self) -> Option<String> {
        let mut version: c_int = 0;
        // SAFETY: the function writes one integer.
        let result = unsafe { (self.functions.cuDriverGetVersion)(&raw mut version) }.is_success();
        result.then(|| format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    pub(super) fn device_count(self) -> Result<u32, GpuError> {
        let mut count: c_int = 0;
        // SAFETY: the function writes one integer.
        self.check("cuDeviceGetCount", unsafe { (self.functions.cuDeviceGetCount)(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    pub(super) fn device(self, index: u32) -> Result<sys::CUdevice, GpuError> {
        let count = self.device_count()?;
        let number = c_int::try_from(index).ok().filter(|_| index < count);
        let number = number.ok_or(GpuError::NoSuchDevice { index, count })?;
        let mut device: sys::CUdevice = 0;
        // SAFETY: the function writes one handle, and the number is below the driver's count.
        self.check("cuDeviceGet", unsafe { (self.functions.cuDeviceGet)(&raw mut device, number) })?;
        Ok(device)
    }

    pub(super) fn name(self, device: sys::CUdevice) -> Result<String, GpuError> {
        let mut text = [0 as c_char; 256];
        let room = text.len() as c_int - 1;
        // SAFETY: the function writes at most `room` bytes, and the last of the array stays zero.
        self.check("cuDeviceGetName", unsafe { (self.functions.cuDeviceGetName)(text.as_mut_ptr(), room, device) })?;
        // SAFETY: the array ends in zero.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// The device's place on the PCI bus; `None` if the driver does not report it.
    pub(super) fn pci(self, device: sys::CUdevice) -> Option<String> {
        let mut text = [0 as c_char; 32];
        let room = text.len() as c_int - 1;
        // SAFETY: the function writes at most `room` bytes, and the last of the array stays zero.
        let result = unsafe { (self.functions.cuDeviceGetPCIBusId)(text.as_mut_ptr(), room, device) }.is_success();
        // SAFETY: the array ends in zero.
        result.then(|| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    pub(super) fn total_memory(self, device: sys::CUdevice) -> Result<u64, GpuError> {
        let mut bytes = 0usize;
        // SAFETY: the function writes one number.
        self.check("cuDeviceTotalMem", unsafe { (self.functions.cuDeviceTotalMem_v2)(&raw mut bytes, device) })?;
        Ok(bytes as u64)
    }

    /// The value of an attribute; `None` if the driver does not know it.
    pub(super) fn attribute(self, device: sys::CUdevice, attribute: CUdevice_attribute) -> Option<c_int> {
        let mut value: c_int = 0;
        // SAFETY: the function writes one integer.
        let result = unsafe { (self.functions.cuDeviceGetAttribute)(&raw mut value, attribute, device) };
        result.is_success().then_some(value)
    }

    /// Converts the result of `call` to an error of its kind.
    pub(super) fn check(self, call: &'static str, code: Code) -> Result<(), GpuError> {
        if code.is_success() {
            return Ok(());
        }
        let (name, reason) = words(self.functions, code);
        Err(match code {
            code if is_sticky(code) => GpuError::Fault { call, name, reason },
            code if code.is(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE) => GpuError::Unavailable { name, reason },
            _ => GpuError::Call { call, name, reason },
        })
    }
}

/// The driver's name for an error, and its description.
fn words(functions: &Functions, code: Code) -> (String, String) {
    let text = |words: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
        let mut text = std::ptr::null();
        // SAFETY: the function writes a pointer to a text of its own that ends in zero, or null.
        let result = unsafe { words(code, &raw mut text) }.is_success() && !text.is_null();
        // SAFETY: as above.
        result.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name = text(functions.cuGetErrorName).unwrap_or_else(|| format!("CUDA error {}", code.0));
    (name, text(functions.cuGetErrorString).unwrap_or_else(|| "the driver does not describe it".to_owned()))
}

/// Whether an error is permanent: every later call in the process returns it again.
fn is_sticky(code: Code) -> bool {
    use CUresult::*;
    [
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_CONTAINED,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK,
        CUDA_ERROR_MPS_CLIENT_TERMINATED,
        CUDA_ERROR_EXTERNAL_DEVICE,
        CUDA_ERROR_UNKNOWN,
    ]
    .into_iter()
    .any(|known| code.is(known))
}
