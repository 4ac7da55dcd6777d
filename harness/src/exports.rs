//! Functions of the worker that a kernel's library can call: those of the TVM-FFI C ABI by which plain C raises errors
//! and reads its stream.
//!
//! The program exports them (`build.rs`), so that a kernel that needs only these does not need `libtvm_ffi.so`.

use std::ffi::{CStr, c_char, c_void};

use plimsoll::kernel::library;

/// The text at `pointer`; empty if it is null.
///
/// # Safety
/// `pointer` is null, or points to a text that ends in zero.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The stream that the kernel should launch on.
#[unsafe(no_mangle)]
pub extern "C" fn TVMFFIEnvGetStream(device_type: i32, device_id: i32) -> *mut c_void {
    std::ptr::without_provenance_mut(library::stream(device_type, device_id))
}

/// Notes an error of the kernel on this thread.
///
/// # Safety
/// Both are null, or texts that end in zero: the contract of the ABI with the kernels that call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TVMFFIErrorSetRaisedFromCStr(kind: *const c_char, message: *const c_char) {
    // SAFETY: the contract above.
    let (kind, message) = unsafe { (text(kind), text(message)) };
    library::raise(&kind, &message);
}

/// Raises an error whose message comes in parts, each of which may be null.
///
/// # Safety
/// As above; `parts` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TVMFFIErrorSetRaisedFromCStrParts(
    kind: *const c_char,
    parts: *const *const c_char,
    count: i32,
) {
    let count = usize::try_from(count).unwrap_or(0);
    let parts = if parts.is_null() || count == 0 {
        &[]
    } else {
        // SAFETY: the contract above.
        unsafe { std::slice::from_raw_parts(parts, count) }
    };
    // SAFETY: the contract above.
    let (kind, message) = unsafe { (text(kind), parts.iter().map(|part| text(*part)).collect::<String>()) };
    library::raise(&kind, &message);
}
