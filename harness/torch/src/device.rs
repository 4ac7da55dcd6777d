//! The CUDA devices of libtorch: `dispatch.cpp` loads its CUDA library when a device is requested.

use plimsoll::ByteSize;
use plimsoll::gpu::AllocatorUse;
use plimsoll::kernel::KernelError;

use crate::dispatch::RawError;

#[repr(C)]
struct RawAllocated {
    allocated: u64,
    allocated_peak: u64,
    reserved: u64,
    reserved_peak: u64,
}

unsafe extern "C" {
    fn plimsoll_use_device(index: i32, error: *mut RawError) -> i32;
    fn plimsoll_trim(index: i32, error: *mut RawError) -> i32;
    fn plimsoll_allocated_on(index: i32, allocated: *mut RawAllocated, error: *mut RawError) -> i32;
}

/// Makes `cuda:INDEX` the device of this thread, where operators are launched from now on.
///
/// # Errors
/// Why libtorch cannot use it.
pub fn use_device(index: i32) -> Result<(), KernelError> {
    let mut error = RawError::NONE;
    // SAFETY: the function takes a number.
    if unsafe { plimsoll_use_device(index, &raw mut error) } == 0 { Ok(()) } else { Err(error.take()) }
}

/// Makes the allocator of a device in use return its cached memory, and resets its peaks.
///
/// # Errors
/// The exception of libtorch.
pub fn trim(index: i32) -> Result<(), KernelError> {
    let mut error = RawError::NONE;
    // SAFETY: the function takes a number.
    if unsafe { plimsoll_trim(index, &raw mut error) } == 0 { Ok(()) } else { Err(error.take()) }
}

/// The memory that the allocator of a device in use holds.
///
/// # Errors
/// The exception of libtorch.
pub fn allocated(index: i32) -> Result<AllocatorUse, KernelError> {
    let (mut error, mut raw) =
        (RawError::NONE, RawAllocated { allocated: 0, allocated_peak: 0, reserved: 0, reserved_peak: 0 });
    // SAFETY: the function writes the four numbers.
    if unsafe { plimsoll_allocated_on(index, &raw mut raw, &raw mut error) } != 0 {
        return Err(error.take());
    }
    Ok(AllocatorUse {
        allocated: ByteSize::new(raw.allocated),
        allocated_peak: ByteSize::new(raw.allocated_peak),
        reserved: ByteSize::new(raw.reserved),
        reserved_peak: ByteSize::new(raw.reserved_peak),
        workspace: None,
    })
}
