//! [`Driver`]: the library of the NVIDIA driver, loaded at run time, and the functions of it that are called.
//!
//! A [`Driver`] can only be had where the library is loaded, has each function
//! that is called without asking, and has started: `cudarc` would end the process by a panic where one is missing.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::error::GpuError;

/// The name that a driver installs; the one without a number may be a stub of a toolkit.
const LIBRARY: &str = "libcuda.so.1";

/// What is called without asking whether it is there.
const REQUIRED: [&str; 36] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetPCIBusId",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuGraphGetNodes",
];
/// What drivers have from CUDA 12.5 on: an event of all that a context does.
const CONTEXT_EVENT: &str = "cuCtxRecordEvent";

/// The driver, loaded and started.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    /// Whether an event can be recorded of all that a context does.
    pub(super) context_events: bool,
}

impl Driver {
    /// Loads the driver's library and starts it, once a process.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::OldDriver`], [`GpuError::Start`] or [`GpuError::NoDevice`].
    pub fn load() -> Result<Self, GpuError> {
        static LOADED: OnceLock<Result<Driver, GpuError>> = OnceLock::new();
        LOADED.get_or_init(Self::start).clone()
    }

    fn start() -> Result<Self, GpuError> {
        // SAFETY: the library is the driver's own, whose setup starts nothing; it is never unloaded.
        let library = unsafe { Library::open(Some(LIBRARY), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| GpuError::NoDriver { reason: error.to_string() })?;
        for function in REQUIRED {
            // SAFETY: the symbol is only looked for.
            if unsafe { library.get::<*const ()>(function.as_bytes()) }.is_err() {
                return Err(GpuError::OldDriver { function });
            }
        }
        // SAFETY: as above.
        let context_events = unsafe { library.get::<*const ()>(CONTEXT_EVENT.as_bytes()) }.is_ok();
        std::mem::forget(library);
        let driver = Self { context_events };
        // SAFETY: the function is there, and takes no flags.
        match unsafe { sys::cuInit(0) } {
            CUresult::CUDA_SUCCESS => Ok(driver),
            CUresult::CUDA_ERROR_NO_DEVICE => Err(GpuError::NoDevice),
            other => {
                let (name, reason) = driver.words(other);
                Err(GpuError::Start { name, reason })
            }
        }
    }

    /// The newest version of CUDA that the driver runs, as `12.4`.
    pub fn cuda_version(self) -> Option<String> {
        let mut version: c_int = 0;
        // SAFETY: the function writes one integer.
        let told = unsafe { sys::cuDriverGetVersion(&raw mut version) } == CUresult::CUDA_SUCCESS;
        told.then(|| format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    pub(super) fn device_count(self) -> Result<u32, GpuError> {
        let mut count: c_int = 0;
        // SAFETY: the function writes one integer.
        self.check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    pub(super) fn device(self, index: u32) -> Result<sys::CUdevice, GpuError> {
        let count = self.device_count()?;
        let number = c_int::try_from(index).ok().filter(|_| index < count);
        let number = number.ok_or(GpuError::NoSuchDevice { index, count })?;
        let mut device: sys::CUdevice = 0;
        // SAFETY: the function writes one handle, and the number is one of those that the driver counts.
        self.check("cuDeviceGet", unsafe { sys::cuDeviceGet(&raw mut device, number) })?;
        Ok(device)
    }

    pub(super) fn name(self, device: sys::CUdevice) -> Result<String, GpuError> {
        let mut text = [0 as c_char; 256];
        let room = text.len() as c_int - 1;
        // SAFETY: the function writes at most so many bytes, and the last of the array stays zero.
        self.check("cuDeviceGetName", unsafe { sys::cuDeviceGetName(text.as_mut_ptr(), room, device) })?;
        // SAFETY: the array ends in zero.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// Its place on the PCI bus; `None` where the driver does not tell.
    pub(super) fn pci(self, device: sys::CUdevice) -> Option<String> {
        let mut text = [0 as c_char; 32];
        let room = text.len() as c_int - 1;
        // SAFETY: the function writes at most so many bytes, and the last of the array stays zero.
        let told = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), room, device) } == CUresult::CUDA_SUCCESS;
        // SAFETY: the array ends in zero.
        told.then(|| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    pub(super) fn total_memory(self, device: sys::CUdevice) -> Result<u64, GpuError> {
        let mut bytes = 0usize;
        // SAFETY: the function writes one number.
        self.check("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, device) })?;
        Ok(bytes as u64)
    }

    /// `None` where the driver does not know the attribute.
    pub(super) fn attribute(self, device: sys::CUdevice, attribute: CUdevice_attribute) -> Option<c_int> {
        let mut value: c_int = 0;
        // SAFETY: the function writes one integer.
        let told = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) };
        (told == CUresult::CUDA_SUCCESS).then_some(value)
    }

    /// What `call` gave as an error of its kind.
    pub(super) fn check(self, call: &'static str, result: CUresult) -> Result<(), GpuError> {
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        let (name, reason) = self.words(result);
        Err(if is_sticky(result) {
            GpuError::Fault { call, name, reason }
        } else {
            GpuError::Call { call, name, reason }
        })
    }

    /// The driver's name for an error, and what it means.
    fn words(self, result: CUresult) -> (String, String) {
        type Words = unsafe fn(CUresult, *mut *const c_char) -> CUresult;
        let text = |words: Words| {
            let mut text = std::ptr::null();
            // SAFETY: the function writes a pointer to a text of its own that ends in zero, or null.
            let told = unsafe { words(result, &raw mut text) } == CUresult::CUDA_SUCCESS && !text.is_null();
            // SAFETY: as above.
            told.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = text(sys::cuGetErrorName).unwrap_or_else(|| format!("CUDA error {}", result as u32));
        (name, text(sys::cuGetErrorString).unwrap_or_else(|| "the driver has no words for it".to_owned()))
    }
}

/// Whether an error stays: every later call in the process gives it again.
fn is_sticky(result: CUresult) -> bool {
    use CUresult::*;
    matches!(
        result,
        CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_UNKNOWN
    )
}
