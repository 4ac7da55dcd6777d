//! [`Runtime`]: the implementation of the ABI, `libtvm_ffi.so`, for libraries that need it, and errors with and without
//! it.
//!
//! A kernel reports why it failed before it returns: by `TVMFFIErrorSetRaised`, which only `libtvm_ffi.so` has, or by
//! `TVMFFIErrorSetRaisedFromCStr`. The `plimsoll` command exports the latter itself and calls [`raise`], so a kernel in
//! plain C needs no other library.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::super::error::Raised;
use super::abi::{Any, ByteArray, DlDevice, ErrorCell, Object, index};

thread_local! {
    /// The error that the kernel on this thread raised without `libtvm_ffi.so`.
    static RAISED: RefCell<Option<Raised>> = const { RefCell::new(None) };
    /// The stream that kernels on this thread must launch on, and its GPU.
    static STREAM: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
}

/// The result of `TVMFFIEnvGetStream` on this thread: the stream that the kernel must launch on if asked for its
/// device, and the default stream for every other device.
pub fn stream(device_type: i32, device_id: i32) -> usize {
    let (device, stream) = STREAM.get();
    if DlDevice::cuda(device) == (DlDevice { device_type, device_id }) { stream } else { 0 }
}

/// Sets the stream that kernels on this thread must launch on.
pub(super) fn set_stream(device: u32, stream: usize) {
    if STREAM.replace((device, stream)) == (device, stream) {
        return;
    }
    if let Some(set) = RUNTIME.get().and_then(|runtime| runtime.set_stream) {
        let DlDevice { device_type, device_id } = DlDevice::cuda(device);
        let stream = std::ptr::without_provenance_mut(stream);
        // SAFETY: a function of the ABI of this type, given a handle that it keeps as a number, and null in place of
        // the previous one.
        unsafe { set(device_type, device_id, stream, std::ptr::null_mut()) };
    }
}

/// The runtime, loaded once for the life of the process, because kernels hold pointers into it.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Records an error of the kernel that runs on this thread, as `TVMFFIErrorSetRaisedFromCStr` does.
pub fn raise(kind: &str, message: &str) {
    if let Some(runtime) = RUNTIME.get()
        && let (Ok(kind), Ok(message)) = (CString::new(kind), CString::new(message))
    {
        // All errors go to one place: C++ code of the library would not read ours. SAFETY: a function of the ABI of
        // this type, given two texts that end in zero and outlive the call.
        unsafe { (runtime.set_raised)(kind.as_ptr(), message.as_ptr()) };
        return;
    }
    RAISED.set(Some(Raised { kind: kind.to_owned(), message: message.to_owned() }));
}

/// Takes the error that the last kernel on this thread raised, if it raised one.
pub(super) fn take_raised() -> Option<Raised> {
    RAISED.take().or_else(|| RUNTIME.get()?.take_raised())
}

/// The functions of `libtvm_ffi.so` that are used.
pub(super) struct Runtime {
    set_raised: unsafe extern "C" fn(*const c_char, *const c_char),
    move_raised: unsafe extern "C" fn(*mut *mut c_void),
    release: unsafe extern "C" fn(*mut c_void) -> c_int,
    global: unsafe extern "C" fn(*const ByteArray, *mut *mut c_void) -> c_int,
    call: unsafe extern "C" fn(*mut c_void, *mut Any, i32, *mut Any) -> c_int,
    set_stream: Option<SetStream>,
}

/// `TVMFFIEnvSetStream`.
type SetStream = unsafe extern "C" fn(i32, i32, *mut c_void, *mut *mut c_void) -> c_int;

impl Runtime {
    /// The runtime that is loaded, if one is.
    pub fn loaded() -> Option<&'static Self> {
        RUNTIME.get()
    }

    /// Loads `file`, and makes its symbols available to every library loaded after it.
    ///
    /// # Errors
    /// The loader's error.
    pub fn load(file: &OsStr) -> Result<&'static Self, String> {
        if let Some(runtime) = RUNTIME.get() {
            return Ok(runtime);
        }
        // SAFETY: the library is the ABI's own implementation, whose setup only registers its types; it is never unloaded.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }.map_err(|e| e.to_string())?;
        let runtime = Self::of(&library).map_err(|e| e.to_string())?;
        std::mem::forget(library);
        Ok(RUNTIME.get_or_init(|| runtime))
    }

    fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: each symbol is looked up under the type that `tvm/ffi/c_api.h` declares for it.
        unsafe {
            Ok(Self {
                set_raised: *library.get(b"TVMFFIErrorSetRaisedFromCStr\0")?,
                move_raised: *library.get(b"TVMFFIErrorMoveFromRaised\0")?,
                release: *library.get(b"TVMFFIObjectDecRef\0")?,
                global: *library.get(b"TVMFFIFunctionGetGlobal\0")?,
                call: *library.get(b"TVMFFIFunctionCall\0")?,
                set_stream: library.get::<SetStream>(b"TVMFFIEnvSetStream\0").ok().map(|set| *set),
            })
        }
    }

    fn take_raised(&self) -> Option<Raised> {
        let mut error = std::ptr::null_mut();
        // SAFETY: the function writes a handle, or null, and passes its reference on to us.
        unsafe { (self.move_raised)(&raw mut error) };
        if error.is_null() {
            return None;
        }
        // SAFETY: what is raised is an error object, whose cell follows its header, and is alive until its reference is
        // released below.
        let raised = unsafe {
            let cell = &(*error.cast::<Object<ErrorCell>>()).cell;
            Raised { kind: text(&cell.kind), message: text(&cell.message) }
        };
        self.drop_object(error);
        Some(raised)
    }

    /// Releases a reference.
    pub fn drop_object(&self, object: *mut c_void) {
        // SAFETY: callers have received the reference that they release here from the ABI, once.
        unsafe { (self.release)(object) };
    }

    /// Sets up the library at `path` as the ABI's own loader does: its context is filled in, its embedded modules are
    /// unpacked. The resulting module lives as long as the process.
    ///
    /// # Errors
    /// The error that the loader raised.
    pub fn load_module(&self, path: &Path) -> Result<(), String> {
        const LOADER: &str = "ffi.ModuleLoadFromFile";
        let said = || take_raised().map_or_else(|| "no error message".to_owned(), |raised| raised.to_string());
        let name = ByteArray { data: LOADER.as_ptr().cast(), size: LOADER.len() };
        let mut function = std::ptr::null_mut();
        // SAFETY: the name outlives the call, which writes a handle or null.
        let failed = unsafe { (self.global)(&raw const name, &raw mut function) } != 0;
        if failed || function.is_null() {
            return Err(format!("{LOADER}: {}", said()));
        }
        let path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
        let (mut argument, mut module) = (Any::pointer(index::RAW_STRING, path.as_ptr()), Any::NONE);
        // SAFETY: the handle is a function, the argument a text that outlives the call, the result is set to None before.
        let failed = unsafe { (self.call)(function, &raw mut argument, 1, &raw mut module) } != 0;
        self.drop_object(function);
        if failed { Err(said()) } else { Ok(()) }
    }
}

/// A text of the ABI, cut to the length that a message can use.
///
/// # Safety
/// `array` is null, or points to as many bytes as it says.
unsafe fn text(array: &ByteArray) -> String {
    const LONGEST_TEXT: usize = 64 << 10;
    if array.data.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(array.data.cast::<u8>(), array.size.min(LONGEST_TEXT)) };
    String::from_utf8_lossy(bytes).into_owned()
}
