//! [`Gpu`]: a device in use, and the memory that is allocated on it.

use std::ffi::c_void;
use std::fmt;
use std::rc::Rc;

use cudarc::driver::sys::{self, CUresult};

use super::device::DeviceFacts;
use super::driver::Driver;
use super::error::GpuError;
use super::functions::{Code, Functions};
use crate::kernel::DeviceRange;
use plimsoll_memory::bytes::ByteSize;

/// A device used by this thread, in its primary context, which is that of the CUDA runtime, so that kernels find it
/// current.
pub struct Gpu {
    driver: Driver,
    facts: DeviceFacts,
    context: sys::CUcontext,
}

/// The memory of a device: free and in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Memory that any program can still allocate.
    pub free: ByteSize,
    /// The device's memory in total.
    pub total: ByteSize,
}

impl MemoryInfo {
    /// The memory in use, by any program.
    pub fn used(self) -> ByteSize {
        self.total.saturating_sub(self.free)
    }
}

impl Gpu {
    /// Opens the device `index` and makes its context current on this thread. The context stays for the life of the
    /// process.
    ///
    /// # Errors
    /// [`GpuError`] if there is no driver or no such device, or its context cannot be created.
    pub fn open(index: u32) -> Result<Rc<Self>, GpuError> {
        let driver = Driver::load()?;
        let facts = DeviceFacts::of(driver, index)?;
        let device = driver.device(index)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the function writes one handle, which is retained and never released.
        driver.check("cuDevicePrimaryCtxRetain", unsafe {
            (driver.functions().cuDevicePrimaryCtxRetain)(&raw mut context, device)
        })?;
        let gpu = Self { driver, facts, context };
        gpu.make_current()?;
        Ok(Rc::new(gpu))
    }

    /// The facts about the device.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Makes the context current on this thread again, because a kernel may have replaced it.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn make_current(&self) -> Result<(), GpuError> {
        // SAFETY: the context is retained.
        self.check("cuCtxSetCurrent", unsafe { (self.functions().cuCtxSetCurrent)(self.context) })
    }

    /// Makes the context keep `bytes` of stack for each thread that the device can run, instead of the driver's usual 1
    /// KiB. The driver enlarges it by itself only for a kernel whose compiler reports that it needs more; kernels that
    /// recurse or call through pointers must make do with this. A driver that refuses the limit keeps its own.
    ///
    /// # Errors
    /// [`GpuError::Fault`].
    pub fn keep_stack(&self, bytes: ByteSize) -> Result<(), GpuError> {
        let bytes = usize::try_from(bytes.bytes()).unwrap_or(usize::MAX);
        // SAFETY: the function takes two numbers.
        let code = unsafe { (self.functions().cuCtxSetLimit)(sys::CUlimit_enum::CU_LIMIT_STACK_SIZE, bytes) };
        self.check("cuCtxSetLimit", code).or_else(|error| if error.is_fault() { Err(error) } else { Ok(()) })
    }

    /// The memory that is free now, for all programs together.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn memory(&self) -> Result<MemoryInfo, GpuError> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the function writes two numbers.
        self.check("cuMemGetInfo", unsafe { (self.functions().cuMemGetInfo_v2)(&raw mut free, &raw mut total) })?;
        Ok(MemoryInfo { free: ByteSize::new(free as u64), total: ByteSize::new(total as u64) })
    }

    /// Waits until the device has finished all work of this process.
    ///
    /// # Errors
    /// [`GpuError`] if any of the work failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the function takes nothing.
        self.check("cuCtxSynchronize", unsafe { (self.functions().cuCtxSynchronize)() })
    }

    /// Allocates memory on the device.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] if not enough memory is free.
    pub fn allocate(self: &Rc<Self>, bytes: u64) -> Result<DeviceMemory, GpuError> {
        let mut address: sys::CUdeviceptr = 0;
        // Memory without bytes cannot be allocated, but even tensors without elements need an address.
        let length = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: the function writes one address.
        let code = unsafe { (self.functions().cuMemAlloc_v2)(&raw mut address, length) };
        if code.is(CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
            let MemoryInfo { free, total } = self.memory()?;
            return Err(GpuError::OutOfMemory { bytes: ByteSize::new(bytes), free, total });
        }
        self.check("cuMemAlloc", code)?;
        Ok(DeviceMemory { gpu: Rc::clone(self), address, bytes: length as u64, own: true })
    }

    /// Allocates host memory that the device can copy from and to directly.
    ///
    /// # Errors
    /// [`GpuError`] if that much memory cannot be locked.
    pub(super) fn pinned(self: &Rc<Self>, bytes: usize) -> Result<PinnedMemory, GpuError> {
        let mut start = std::ptr::null_mut();
        // SAFETY: the function writes one pointer.
        self.check("cuMemHostAlloc", unsafe { (self.functions().cuMemHostAlloc)(&raw mut start, bytes, 0) })?;
        Ok(PinnedMemory { gpu: Rc::clone(self), start, bytes })
    }

    pub(super) fn functions(&self) -> &'static Functions {
        self.driver.functions()
    }

    pub(super) fn context(&self) -> sys::CUcontext {
        self.context
    }

    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<(), GpuError> {
        self.driver.check(call, code)
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Memory on a device, freed when it is dropped.
#[derive(Debug)]
pub struct DeviceMemory {
    gpu: Rc<Gpu>,
    address: u64,
    bytes: u64,
    /// Whether the memory was allocated here, not by a kernel.
    own: bool,
}

impl DeviceMemory {
    /// Memory that a kernel has allocated, while the kernel keeps it. Dropping this does not free it.
    ///
    /// # Safety
    /// The range was allocated on `gpu`, and is not freed while this lives.
    pub unsafe fn lent(gpu: &Rc<Gpu>, range: DeviceRange) -> Self {
        Self { gpu: Rc::clone(gpu), address: range.address, bytes: range.bytes, own: false }
    }

    /// The device that the memory is on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The address of the first byte, on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The address of `bytes` bytes from `offset` on.
    ///
    /// # Panics
    /// If the range is not within the memory: callers check their ranges.
    pub(super) fn range(&self, offset: u64, bytes: u64) -> u64 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{offset}+{bytes} of {}", self.bytes);
        self.address + offset
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if !self.own {
            return;
        }
        // SAFETY: the memory was allocated by this type and is freed once; the driver waits for work that uses it. After a fault
        // nothing can be freed any more, and the process ends.
        let _ = unsafe { (self.gpu.functions().cuMemFree_v2)(self.address) };
    }
}

/// Host memory, locked in place. Wait for copies from or to it before dropping it.
#[derive(Debug)]
pub(super) struct PinnedMemory {
    gpu: Rc<Gpu>,
    start: *mut c_void,
    bytes: usize,
}

impl PinnedMemory {
    pub fn as_ptr(&self) -> *mut c_void {
        self.start
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is this value's own, zeroed or written; callers have waited for copies to it.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.bytes) }
    }

    /// The first `length` bytes in pieces of `size`, to be written by other threads. The caller must wait for all of
    /// them before it calls this again, reads or copies the bytes, or drops the memory.
    pub fn pieces(&mut self, length: usize, size: usize) -> impl Iterator<Item = PinnedPiece> {
        let (start, end) = (self.start.cast::<u8>(), length.min(self.bytes));
        (0..end).step_by(size).map(move |at| PinnedPiece { start: start.wrapping_add(at), bytes: size.min(end - at) })
    }
}

/// A piece of pinned memory that no other piece overlaps.
pub(super) struct PinnedPiece {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is the piece's own while it lives: `pieces` returns none that overlap, and its callers wait.
unsafe impl Send for PinnedPiece {}

impl PinnedPiece {
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range is in live memory, zeroed or written, and belongs to this piece alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated by `pinned` and is freed once.
        let _ = unsafe { (self.gpu.functions().cuMemFreeHost)(self.start) };
    }
}
