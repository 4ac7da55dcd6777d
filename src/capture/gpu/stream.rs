//! [`Stream`] and [`Event`]: ordered work of a device, and points in it whose time is known once they are reached.

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::driver::sys;

use super::context::{DeviceMemory, Gpu, PinnedMemory};
use super::error::GpuError;
use super::functions::HostFunction;

/// A queue of a device's work that is done in order.
#[derive(Debug)]
pub struct Stream {
    gpu: Rc<Gpu>,
    handle: sys::CUstream,
    /// Whether to destroy the stream on drop, which must not happen to the default stream.
    own: bool,
}

impl Stream {
    /// The default stream of the device, which kernels use unless they are given another.
    pub fn default_of(gpu: &Rc<Gpu>) -> Self {
        Self { gpu: Rc::clone(gpu), handle: std::ptr::null_mut(), own: false }
    }

    /// Makes a new stream, which waits for no other stream, and no other for it.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn new(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        const NON_BLOCKING: u32 = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the function writes one handle.
        gpu.check("cuStreamCreate", unsafe { (gpu.functions().cuStreamCreate)(&raw mut handle, NON_BLOCKING) })?;
        Ok(Self { gpu: Rc::clone(gpu), handle, own: true })
    }

    /// The device.
    pub fn gpu(&self) -> &Rc<Gpu> {
        &self.gpu
    }

    /// The handle, for kernels that are given the stream to launch on; 0 is the default stream.
    pub fn handle(&self) -> usize {
        self.handle as usize
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.handle
    }

    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    /// [`GpuError`] if any of it failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the stream is alive.
        self.gpu.check("cuStreamSynchronize", unsafe { (self.gpu.functions().cuStreamSynchronize)(self.handle) })
    }

    /// Puts a write of `byte` to all of `memory` from `offset` on into the stream.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn fill(&self, memory: &DeviceMemory, offset: u64, bytes: u64, byte: u8) -> Result<(), GpuError> {
        if bytes == 0 {
            return Ok(());
        }
        let address = memory.range(offset, bytes);
        // SAFETY: the range is in the memory, which is alive, because freeing it waits for the work that uses it.
        self.gpu.check("cuMemsetD8Async", unsafe {
            (self.gpu.functions().cuMemsetD8Async)(address, byte, bytes as usize, self.handle)
        })
    }

    /// Puts a copy of the first `bytes` bytes of `from` to `to` into the stream.
    ///
    /// The caller must leave `from` alone until the copy is done.
    pub(super) fn copy_in(&self, from: &PinnedMemory, bytes: u64, to: &DeviceMemory, at: u64) -> Result<(), GpuError> {
        let address = to.range(at, bytes);
        // SAFETY: both ranges are within their memories, and the ring, which alone calls this, keeps the host's until
        // the copy is done.
        self.gpu.check("cuMemcpyHtoDAsync", unsafe {
            (self.gpu.functions().cuMemcpyHtoDAsync_v2)(address, from.as_ptr(), bytes as usize, self.handle)
        })
    }

    /// Puts a copy of `bytes` bytes of `from` to the start of `to` into the stream.
    ///
    /// The caller must leave `to` alone until the copy is done.
    pub(super) fn copy_out(&self, from: &DeviceMemory, at: u64, bytes: u64, to: &PinnedMemory) -> Result<(), GpuError> {
        let address = from.range(at, bytes);
        // SAFETY: as above.
        self.gpu.check("cuMemcpyDtoHAsync", unsafe {
            (self.gpu.functions().cuMemcpyDtoHAsync_v2)(to.as_ptr(), address, bytes as usize, self.handle)
        })
    }

    /// Makes all work put into the stream from now on wait for `event`.
    ///
    /// # Errors
    /// [`GpuError`].
    pub(super) fn wait_for(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both are alive, and there are no flags.
        self.gpu.check("cuStreamWaitEvent", unsafe {
            (self.gpu.functions().cuStreamWaitEvent)(self.handle, event.handle, 0)
        })
    }

    /// Puts a call of `function` with `argument` into the stream. The function must not call the driver.
    ///
    /// The caller must keep the data behind `argument` until the function was called.
    pub(super) fn host_function(&self, function: HostFunction, argument: *mut c_void) -> Result<(), GpuError> {
        // SAFETY: the stream is alive; the caller guarantees that the argument is valid.
        self.gpu.check("cuLaunchHostFunc", unsafe {
            (self.gpu.functions().cuLaunchHostFunc)(self.handle, function, argument)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: the stream was created by this type and is destroyed once; the driver lets its work end first.
            let _ = unsafe { (self.gpu.functions().cuStreamDestroy_v2)(self.handle) };
        }
    }
}

/// A point in the work of a device.
#[derive(Debug)]
pub struct Event {
    gpu: Rc<Gpu>,
    handle: sys::CUevent,
}

impl Event {
    /// Makes an event that records its time. It counts as not reached until it was recorded.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn new(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Self::with(gpu, sys::CUevent_flags_enum::CU_EVENT_DEFAULT)
    }

    /// Makes an event that records whether it was reached, but not when.
    ///
    /// # Errors
    /// [`GpuError`].
    pub(super) fn untimed(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Self::with(gpu, sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING)
    }

    fn with(gpu: &Rc<Gpu>, flags: sys::CUevent_flags_enum) -> Result<Self, GpuError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the function writes one handle.
        gpu.check("cuEventCreate", unsafe { (gpu.functions().cuEventCreate)(&raw mut handle, flags as u32) })?;
        Ok(Self { gpu: Rc::clone(gpu), handle })
    }

    /// Puts the event into `stream`, after the work already there.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn record(&self, stream: &Stream) -> Result<(), GpuError> {
        // SAFETY: both are alive.
        self.gpu.check("cuEventRecord", unsafe { (self.gpu.functions().cuEventRecord)(self.handle, stream.raw()) })
    }

    /// Puts the event after all work of this process on the device, in any stream; `false` if the driver cannot.
    ///
    /// # Errors
    /// [`GpuError`].
    pub(super) fn record_all(&self) -> Result<bool, GpuError> {
        let Some(record) = self.gpu.functions().cuCtxRecordEvent else { return Ok(false) };
        // SAFETY: the context is retained and the event is alive.
        self.gpu.check("cuCtxRecordEvent", unsafe { record(self.gpu.context(), self.handle) })?;
        Ok(true)
    }

    /// Waits until the event is reached.
    ///
    /// # Errors
    /// [`GpuError`] if work before it failed.
    pub fn wait(&self) -> Result<(), GpuError> {
        // SAFETY: the event is alive.
        self.gpu.check("cuEventSynchronize", unsafe { (self.gpu.functions().cuEventSynchronize)(self.handle) })
    }

    /// The nanoseconds from `earlier` to this event, to about half a microsecond; both must have been reached.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn since(&self, earlier: &Self) -> Result<f64, GpuError> {
        let mut milliseconds = 0f32;
        // SAFETY: both are alive, and the function writes one number.
        self.gpu.check("cuEventElapsedTime", unsafe {
            (self.gpu.functions().cuEventElapsedTime)(&raw mut milliseconds, earlier.handle, self.handle)
        })?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event was created by this type and is destroyed once.
        let _ = unsafe { (self.gpu.functions().cuEventDestroy_v2)(self.handle) };
    }
}
