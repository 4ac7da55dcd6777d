//! Calls through libtorch's dispatcher: `dispatch.cpp`, and the torch-sys values that it takes.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

use plimsoll::capture::{Argument, Dtype, TensorRef, TensorSpec};
use plimsoll::kernel::{Call, DeviceCall, DeviceRange, Elements, Given, GivenValue, KernelError};
use tch::Tensor;
use torch_sys::CIValue;

use crate::functional::Lowered;

#[repr(C)]
struct RawCall {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct RawError {
    failure: i32,
    message: *mut c_char,
}

#[repr(C)]
struct RawArgument {
    name: *const c_char,
    value: *const c_void,
}

#[repr(C)]
struct RawLeaf {
    path: *const c_char,
    kind: i32,
    integer: i64,
    real: f64,
    imaginary: f64,
    text: *const c_char,
    dtype: *const c_char,
    shape: *const i64,
    dimensions: usize,
    data: *const c_void,
    bytes: usize,
    on_device: bool,
}

unsafe extern "C" {
    fn plimsoll_libtorch_version() -> *const c_char;
    fn plimsoll_dtype(name: *const c_char) -> i32;
    fn plimsoll_complex(real: f64, imaginary: f64) -> *mut c_void;
    fn plimsoll_overloads(name: *const c_char) -> usize;
    fn plimsoll_bind(
        name: *const c_char,
        overload: *const c_char,
        arguments: *const RawArgument,
        count: usize,
        error: *mut RawError,
    ) -> *mut RawCall;
    fn plimsoll_launch(call: *mut RawCall, error: *mut RawError) -> i32;
    fn plimsoll_flatten(call: *mut RawCall, first: bool, leaves: *mut usize, error: *mut RawError) -> i32;
    fn plimsoll_leaf_at(call: *const RawCall, index: usize, leaf: *mut RawLeaf);
    fn plimsoll_call_free(call: *mut RawCall);
    fn plimsoll_text_free(text: *mut c_char);
    fn plimsoll_tensor(
        data: *mut c_void,
        shape: *const i64,
        strides: *const i64,
        dimensions: usize,
        dtype: i32,
        device: i32,
        error: *mut RawError,
    ) -> *mut c_void;
}

impl RawError {
    pub(crate) const NONE: Self = Self { failure: 0, message: null_mut() };

    pub(crate) fn take(self) -> KernelError {
        // SAFETY: `dispatch.cpp` left a text that ends in zero, which is freed once.
        let message = unsafe {
            let message = text(self.message);
            plimsoll_text_free(self.message);
            message
        };
        match self.failure {
            2 => KernelError::OutOfMemory { message },
            3 => KernelError::NotReachable { message },
            4 => KernelError::DeviceOutOfMemory { message },
            _ => KernelError::Exception { message },
        }
    }
}

/// The text at `pointer`.
///
/// # Safety
/// `pointer` is null, or points to a text that ends in zero.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// libtorch's version.
pub fn version() -> String {
    // SAFETY: the text is a constant of the library.
    unsafe { text(plimsoll_libtorch_version()) }
}

/// Whether libtorch has an operator with this name (`aten::add`), under any overload.
pub fn exists(name: &str) -> bool {
    // SAFETY: the name ends in zero, and is only read.
    CString::new(name).is_ok_and(|name| unsafe { plimsoll_overloads(name.as_ptr()) } > 0)
}

fn c_text(text: &str) -> Result<CString, KernelError> {
    CString::new(text).map_err(|_| exception(format!("{text:?} holds a zero byte, which libtorch's texts cannot hold")))
}

fn exception(message: String) -> KernelError {
    KernelError::Exception { message }
}

/// The error that torch-sys kept from its last failed call.
fn check() -> Result<(), KernelError> {
    // SAFETY: the text belongs to the caller, who frees it with C's `free`.
    unsafe {
        let message = torch_sys::get_and_reset_last_err();
        if message.is_null() {
            return Ok(());
        }
        let what = text(message);
        libc::free(message.cast());
        Err(exception(what.lines().next().unwrap_or_default().to_owned()))
    }
}

/// A value of libtorch.
struct Value(*mut CIValue);

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the value is owned by this.
        unsafe { torch_sys::ati_free(self.0) };
    }
}

impl Value {
    fn of(storages: &Storages<'_>, name: &str, argument: &Argument) -> Result<Self, KernelError> {
        let refuse = |what: &str| KernelError::NotReachable {
            message: format!("argument `{name}` is {what}, which libtorch's operators do not take"),
        };
        // SAFETY: plain values are copied; texts end in zero and are copied; the pointers of lists are only read, and
        // live until after the call; a tensor is counted by the value that is made of it.
        let value = unsafe {
            match argument {
                Argument::None => torch_sys::ati_none(),
                Argument::Bool(b) => torch_sys::ati_bool(i32::from(*b)),
                Argument::Int(n) => torch_sys::ati_int(*n),
                Argument::Float(x) => torch_sys::ati_double(*x),
                Argument::Complex(re, im) => plimsoll_complex(*re, *im).cast(),
                Argument::Str(s) | Argument::Device(s) => torch_sys::ati_string(c_text(s)?.as_ptr()),
                Argument::Dtype(dtype) => torch_sys::ati_int(i64::from(number(*dtype)?)),
                Argument::Tensor(tensor) => {
                    let tensor = view(storages, name, tensor)?;
                    torch_sys::ati_tensor(tensor.as_ptr().cast_mut())
                }
                Argument::List(items) | Argument::Tuple(items) => {
                    let items =
                        items.iter().map(|item| Self::of(storages, name, item)).collect::<Result<Vec<_>, _>>()?;
                    let pointers: Vec<_> = items.iter().map(|item| item.0).collect();
                    torch_sys::ati_tuple(pointers.as_ptr(), pointers.len() as i32)
                }
                Argument::BigInt(_) => return Err(refuse("an int beyond 64 bits")),
                Argument::Bytes(_) => return Err(refuse("bytes")),
                Argument::Dict(_) => return Err(refuse("a dictionary")),
                Argument::Opaque { class, .. } => return Err(refuse(&format!("an object of {class}"))),
            }
        };
        check()?;
        Ok(Self(value))
    }
}

fn number(dtype: Dtype) -> Result<i32, KernelError> {
    let name = c_text(dtype.name())?;
    // SAFETY: the name ends in zero, and is only read.
    let number = unsafe { plimsoll_dtype(name.as_ptr()) };
    let missing = || KernelError::NotReachable { message: format!("this libtorch has no dtype {dtype}") };
    if number < 0 { Err(missing()) } else { Ok(number) }
}

/// The place of the storages of a call.
#[derive(Clone, Copy)]
pub enum Storages<'a> {
    Host(&'a Call<'a>),
    Device(&'a DeviceCall<'a>),
}

impl Storages<'_> {
    /// The address of a tensor's storage, after a check that the tensor does not reach beyond it.
    fn of(&self, name: &str, tensor: &TensorRef) -> Result<usize, KernelError> {
        match self {
            Self::Host(call) => {
                call.view(name, tensor)?;
                Ok(call.storages[tensor.storage].as_ptr() as usize)
            }
            Self::Device(call) => Ok(call.storage_of(name, tensor)? as usize),
        }
    }

    /// The number of the storages' device in torch-sys, which is negative for the CPU.
    fn number(&self) -> i32 {
        match self {
            Self::Host(_) => -1,
            Self::Device(call) => call.device as i32,
        }
    }
}

/// A tensor in place: nothing is copied.
fn view(storages: &Storages<'_>, name: &str, tensor: &TensorRef) -> Result<Tensor, KernelError> {
    let start = storages.of(name, tensor)?;
    let layout = &tensor.layout;
    let too_large = || exception(format!("argument `{name}`: {:?} is not a shape that libtorch takes", layout.shape));
    let signed = |n: &u64| i64::try_from(*n).map_err(|_| too_large());
    let shape = layout.shape.iter().map(signed).collect::<Result<Vec<_>, _>>()?;
    let strides =
        layout.strides.iter().map(|&s| i64::try_from(s).map_err(|_| too_large())).collect::<Result<Vec<_>, _>>()?;
    let from = usize::try_from(layout.offset * layout.dtype.size()).map_err(|_| too_large())?;
    // Memory of the device must not be dereferenced by this process.
    let data = std::ptr::with_exposed_provenance_mut(start + from);
    let (dtype, device) = (number(layout.dtype)?, storages.number());
    let mut error = RawError::NONE;
    // SAFETY: the tensor is within its storage (`of` above), and is dropped before the call's storages are: a bound
    // call borrows them. An operator that writes in place writes to a private map, which the worker makes of memory
    // that is not its own, or to memory of the device.
    let made =
        unsafe { plimsoll_tensor(data, shape.as_ptr(), strides.as_ptr(), shape.len(), dtype, device, &raw mut error) };
    if made.is_null() {
        return Err(error.take());
    }
    // SAFETY: a tensor was made, of which this is the only owner.
    let mut made = unsafe { Tensor::from_ptr(made.cast()) };
    if layout.conj {
        made = made.internal_conj();
    }
    if layout.neg {
        made = made.internal_neg_view();
    }
    Ok(made)
}

/// An operator with its arguments bound.
pub struct BoundCall<'a> {
    raw: *mut RawCall,
    first: bool,
    /// The tensors view the storages of the call.
    _storages: PhantomData<&'a [u8]>,
}

impl<'a> BoundCall<'a> {
    /// Binds the call in `lowered` to the first overload that takes it.
    ///
    /// # Errors
    /// [`KernelError`] if there is none, or an argument has no form in libtorch.
    pub fn new(storages: Storages<'a>, lowered: &Lowered) -> Result<Self, KernelError> {
        let mut values = Vec::new();
        for (index, (name, argument)) in lowered.arguments.iter().enumerate() {
            let shown = name.clone().unwrap_or_else(|| format!("arg{index}"));
            values.push((name.as_deref().map(c_text).transpose()?, Value::of(&storages, &shown, argument)?));
        }
        let pointer = |name: &Option<CString>| name.as_ref().map_or(null(), |name| name.as_ptr());
        let arguments: Vec<RawArgument> =
            values.iter().map(|(name, value)| RawArgument { name: pointer(name), value: value.0.cast() }).collect();
        let name = c_text(&lowered.operator)?;
        let overload = lowered.overload.as_deref().map(c_text).transpose()?;
        let mut error = RawError::NONE;
        // SAFETY: all pointers are valid until after the call, which copies the data that it keeps.
        let raw = unsafe {
            plimsoll_bind(name.as_ptr(), pointer(&overload), arguments.as_ptr(), arguments.len(), &raw mut error)
        };
        if raw.is_null() {
            return Err(error.take());
        }
        Ok(Self { raw, first: lowered.first, _storages: PhantomData })
    }

    /// Launches the call.
    ///
    /// # Errors
    /// The exception of libtorch.
    pub fn launch(&mut self) -> Result<(), KernelError> {
        let mut error = RawError::NONE;
        // SAFETY: the call is owned by this.
        if unsafe { plimsoll_launch(self.raw, &raw mut error) } == 0 { Ok(()) } else { Err(error.take()) }
    }

    /// The results of the last launch.
    ///
    /// # Errors
    /// [`KernelError`] if a result is of a kind that no capture can hold.
    pub fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError> {
        let (mut error, mut leaves) = (RawError::NONE, 0);
        // SAFETY: the call is owned by this.
        if unsafe { plimsoll_flatten(self.raw, self.first, &raw mut leaves, &raw mut error) } != 0 {
            return Err(error.take());
        }
        (0..leaves).map(|index| self.leaf(index)).collect()
    }

    fn leaf(&self, index: usize) -> Result<Given<'_>, KernelError> {
        // SAFETY: a leaf of zeros is one without pointers. The data that the call fills in lives until it is launched
        // or flattened again, for which it has to be borrowed mutably; the index is below the number of leaves.
        let (raw, path) = unsafe {
            let mut raw: RawLeaf = std::mem::zeroed();
            plimsoll_leaf_at(self.raw, index, &raw mut raw);
            let path = text(raw.path);
            (raw, path)
        };
        let value = match raw.kind {
            1 => Argument::Bool(raw.integer != 0),
            2 => Argument::Int(raw.integer),
            3 => Argument::Float(raw.real),
            4 => Argument::Complex(raw.real, raw.imaginary),
            // SAFETY: a text of the leaf ends in zero.
            5 => Argument::Str(unsafe { text(raw.text) }),
            6 => return Ok(Given { path, value: tensor(&raw)? }),
            _ => Argument::None,
        };
        Ok(Given { path, value: GivenValue::Value(value) })
    }
}

impl Drop for BoundCall<'_> {
    fn drop(&mut self) {
        // SAFETY: the call is owned by this.
        unsafe { plimsoll_call_free(self.raw) };
    }
}

fn tensor<'a>(raw: &RawLeaf) -> Result<GivenValue<'a>, KernelError> {
    // SAFETY: a tensor's leaf has its dtype as a text that ends in zero, the numbers of its shape, and a pointer to its
    // elements, which have no gaps and are in this process unless they are on the device; an empty tensor may have a
    // null pointer.
    let (name, shape, elements) = unsafe {
        let shape = if raw.dimensions == 0 { &[] } else { std::slice::from_raw_parts(raw.shape, raw.dimensions) };
        let elements = match (raw.bytes, raw.on_device) {
            (0, _) => Elements::Host(&[]),
            (bytes, false) => Elements::Host(std::slice::from_raw_parts(raw.data.cast(), bytes)),
            (bytes, true) => Elements::Device(DeviceRange { address: raw.data as u64, bytes: bytes as u64 }),
        };
        (text(raw.dtype), shape, elements)
    };
    let dtype: Dtype =
        name.parse().map_err(|_| exception(format!("a tensor of {name} was returned, which a capture cannot hold")))?;
    let shape = shape.iter().map(|&n| n as u64).collect();
    Ok(GivenValue::Tensor { spec: TensorSpec { dtype, shape }, elements })
}
