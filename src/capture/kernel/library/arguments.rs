//! [`Arguments`]: a call in the form of the ABI, in memory that lives as long as the launch.

use std::ffi::{CString, c_void};
use std::io;
use std::marker::PhantomData;

use super::abi::{Any, ByteArray, DlDataType, DlDevice, DlTensor, Object, Sequence, index};
use super::pages::Pages;
use crate::kernel::{Call, DeviceCall, KernelError, OutputBuffer};
use crate::{Argument, Layout, TensorRef};

/// The positional arguments of a call, the outputs last. The data that they point to is owned here, or borrowed for
/// `'a`.
///
/// All launches of a call are given the same arguments. A kernel that changed a shape would have less to do in later
/// launches, so the data that describes the arguments is in read-only memory. Objects count their references, so they
/// must be writable, and are checked after each launch.
pub(super) struct Arguments<'a> {
    values: *const Any,
    count: usize,
    objects: Vec<Lent>,
    /// The data that `values` and their pointers point to, except objects.
    _pages: Pages,
    _borrowed: PhantomData<&'a mut [u8]>,
}

/// An object that an argument holds, boxed so that it does not move, and the content that it must have after every
/// launch.
enum Lent {
    Tensor(usize, Box<Object<DlTensor>>, DlTensor),
    Bytes(usize, Box<Object<ByteArray>>, ByteArray),
    Array(usize, Box<Object<Sequence>>, Sequence),
}

impl Lent {
    /// The argument that holds the object, and whether its content is unchanged.
    fn seen(&self) -> (usize, bool) {
        // SAFETY: each is a field of a live box, which a kernel may have written to without the compiler knowing.
        unsafe {
            match self {
                Self::Tensor(at, object, before) => (*at, (&raw const object.cell).read_volatile() == *before),
                Self::Bytes(at, object, before) => (*at, (&raw const object.cell).read_volatile() == *before),
                Self::Array(at, object, before) => {
                    let now = (&raw const object.cell).read_volatile();
                    (*at, (now.data, now.size) == (before.data, before.size))
                }
            }
        }
    }
}

impl<'a> Arguments<'a> {
    /// The arguments of `call`, then the outputs.
    pub fn of(call: &Call<'a>, outputs: &'a mut [OutputBuffer<'_>]) -> Result<Self, KernelError> {
        let locate = |name: &str, tensor: &TensorRef| Ok(call.view(name, tensor)?.storage().as_ptr().cast_mut());
        let outputs = outputs.iter_mut().map(|output| {
            let spec = output.spec();
            (Layout::contiguous(spec.dtype, &spec.shape), output.bytes_mut().as_mut_ptr())
        });
        Self::built(DlDevice::CPU, &locate, call.params, call.args, outputs)
    }

    /// The arguments of a call on a device, then the outputs.
    pub fn on_device(call: &'a DeviceCall<'_>) -> Result<Self, KernelError> {
        let pointer = |address: u64| std::ptr::without_provenance_mut::<u8>(address as usize);
        let locate = |name: &str, tensor: &TensorRef| call.storage_of(name, tensor).map(pointer);
        let outputs = call.outputs.iter();
        let outputs = outputs.map(|(spec, address)| (Layout::contiguous(spec.dtype, &spec.shape), pointer(*address)));
        Self::built(DlDevice::cuda(call.device), &locate, call.params, call.args, outputs)
    }

    fn built(
        device: DlDevice,
        locate: &Locate<'_>,
        params: &[String],
        args: &[Argument],
        outputs: impl Iterator<Item = (Layout, *mut u8)>,
    ) -> Result<Self, KernelError> {
        let mut builder = Builder { device, locate, pages: Pages::default(), objects: Vec::new(), argument: 0 };
        let mut values = Vec::with_capacity(args.len() + outputs.size_hint().0);
        for (at, (name, argument)) in params.iter().zip(args).enumerate() {
            builder.argument = at;
            values.push(builder.value(name, argument, false)?);
        }
        for (layout, data) in outputs {
            let tensor = builder.tensor("output", &layout, data)?;
            values.push(builder.tensor_pointer(tensor)?);
        }
        let count = values.len();
        let values = builder.keep(&values)?;
        let Builder { pages, objects, .. } = builder;
        pages.protect().map_err(no_pages)?;
        Ok(Self { values, count, objects, _pages: pages, _borrowed: PhantomData })
    }

    /// The values, in order.
    pub fn values(&self) -> &[Any] {
        // SAFETY: `values` points to `count` values, in pages that live as long as this does and that nobody can write
        // to.
        unsafe { std::slice::from_raw_parts(self.values, self.count) }
    }

    /// Fails if a launch changed the description of its arguments, whose names are `params`.
    pub fn check(&self, params: &[String]) -> Result<(), KernelError> {
        match self.objects.iter().map(Lent::seen).find(|(_, same)| !same) {
            Some((at, _)) => Err(KernelError::ChangedDescription { name: params.get(at).cloned().unwrap_or_default() }),
            None => Ok(()),
        }
    }
}

/// A function that returns the address of a tensor's storage, after checking that the tensor is within it.
type Locate<'l> = dyn Fn(&str, &TensorRef) -> Result<*mut u8, KernelError> + 'l;

/// A builder of values, which keeps the data that they point to.
struct Builder<'l> {
    device: DlDevice,
    locate: &'l Locate<'l>,
    pages: Pages,
    objects: Vec<Lent>,
    /// The number of the argument that is being made.
    argument: usize,
}

impl Builder<'_> {
    fn keep<T: Copy>(&mut self, values: &[T]) -> Result<*const T, KernelError> {
        self.pages.keep(values).map_err(no_pages)
    }

    /// The value of an argument. Items of a list are `owned`: their only pointers are to objects.
    fn value(&mut self, name: &str, argument: &Argument, owned: bool) -> Result<Any, KernelError> {
        Ok(match argument {
            Argument::None => Any::NONE,
            Argument::Bool(b) => Any::new(index::BOOL, u64::from(*b)),
            Argument::Int(n) => Any::new(index::INT, n.cast_unsigned()),
            Argument::Float(x) => Any::new(index::FLOAT, x.to_bits()),
            Argument::Dtype(dtype) => Any::new(index::DATA_TYPE, data_type(name, *dtype)?.packed()),
            Argument::Device(device) => {
                let found = DlDevice::named(device);
                let found = found.ok_or_else(|| refused(name, format!("DLPack has no device `{device}`")))?;
                Any::new(index::DEVICE, found.bits())
            }
            Argument::Str(text) if owned => self.byte_object(index::STRING, text.as_bytes())?,
            Argument::Str(text) => {
                let text = CString::new(text.as_str());
                let text =
                    text.map_err(|_| refused(name, "the text has a zero byte, at which it would end in C".to_owned()))?;
                Any::pointer(index::RAW_STRING, self.keep(text.as_bytes_with_nul())?)
            }
            Argument::Bytes(bytes) if owned => self.byte_object(index::BYTES, bytes)?,
            Argument::Bytes(bytes) => {
                let array = self.bytes(bytes)?;
                Any::pointer(index::BYTE_ARRAY_POINTER, self.keep(&[array])?)
            }
            Argument::Tensor(tensor) => {
                let start = (self.locate)(name, tensor)?;
                // The offset of a tensor without elements may be beyond the storage.
                let empty = tensor.layout.numel() == Some(0);
                let offset = if empty { 0 } else { tensor.layout.offset * tensor.layout.dtype.size() };
                let tensor = self.tensor(name, &tensor.layout, start.wrapping_add(offset as usize))?;
                if owned { self.tensor_object(tensor) } else { self.tensor_pointer(tensor)? }
            }
            Argument::List(items) | Argument::Tuple(items) => {
                let items: Vec<Any> =
                    items.iter().map(|item| self.value(name, item, true)).collect::<Result<_, _>>()?;
                let size = items.len() as i64;
                let sequence = Sequence { data: self.keep(&items)?, size, capacity: size, data_deleter: None };
                let array = Box::new(Object::lent(index::ARRAY, sequence));
                let value = Any::pointer(index::ARRAY, &raw const *array);
                self.objects.push(Lent::Array(self.argument, array, sequence));
                value
            }
            Argument::BigInt(_) | Argument::Complex(..) | Argument::Dict(_) | Argument::Opaque { .. } => {
                return Err(refused(name, format!("the ABI has no plain value of kind {}", argument.kind())));
            }
        })
    }

    fn tensor(&mut self, name: &str, layout: &Layout, data: *mut u8) -> Result<DlTensor, KernelError> {
        if layout.conj || layout.neg {
            return Err(refused(name, "it is a lazy conjugate or negative, which DLPack cannot express".to_owned()));
        }
        let dtype = data_type(name, layout.dtype)?;
        let mut numbers = |values: &[u64]| {
            let numbers: Vec<i64> = values.iter().map(|&n| n.cast_signed()).collect();
            self.keep(&numbers)
        };
        let (shape, strides) = (numbers(&layout.shape)?, numbers(&layout.strides)?);
        let ndim = layout.shape.len() as i32;
        let data = data.cast::<c_void>();
        Ok(DlTensor { data, device: self.device, ndim, dtype, shape, strides, byte_offset: 0 })
    }

    fn tensor_pointer(&mut self, tensor: DlTensor) -> Result<Any, KernelError> {
        Ok(Any::pointer(index::TENSOR_POINTER, self.keep(&[tensor])?))
    }

    fn tensor_object(&mut self, tensor: DlTensor) -> Any {
        let object = Box::new(Object::lent(index::TENSOR, tensor));
        let value = Any::pointer(index::TENSOR, &raw const *object);
        self.objects.push(Lent::Tensor(self.argument, object, tensor));
        value
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<ByteArray, KernelError> {
        let copy = self.keep(&[bytes, &[0]].concat())?;
        Ok(ByteArray { data: copy.cast(), size: bytes.len() })
    }

    fn byte_object(&mut self, type_index: i32, bytes: &[u8]) -> Result<Any, KernelError> {
        let array = self.bytes(bytes)?;
        let object = Box::new(Object::lent(type_index, array));
        let value = Any::pointer(type_index, &raw const *object);
        self.objects.push(Lent::Bytes(self.argument, object, array));
        Ok(value)
    }
}

fn data_type(name: &str, dtype: crate::Dtype) -> Result<DlDataType, KernelError> {
    DlDataType::of(dtype).ok_or_else(|| refused(name, format!("DLPack has no data type for {dtype}")))
}

fn no_pages(error: io::Error) -> KernelError {
    KernelError::NoPages { reason: error.to_string() }
}

fn refused(name: &str, reason: String) -> KernelError {
    KernelError::NotForLibraries { name: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use super::*;
    use crate::{Dtype, TensorRef, TensorSpec};

    /// Calls `read` with the values that an argument of a call becomes, while they live.
    fn with<T>(argument: Argument, read: impl FnOnce(&[Any]) -> T) -> Result<T, String> {
        let (params, args) = (["x".to_owned()], [argument]);
        let storage = [7u8; 64];
        let call = Call { params: &params, args: &args, storages: &[&storage], outputs: &[] };
        let spec = TensorSpec { dtype: Dtype::F32, shape: vec![2] };
        let mut memory = [0u8; 8];
        let mut outputs = [OutputBuffer::new(&spec, &mut memory).unwrap()];
        let arguments = Arguments::of(&call, &mut outputs).map_err(|e| e.to_string())?;
        Ok(read(arguments.values()))
    }

    fn value(argument: Argument) -> (i32, u64) {
        with(argument, |values| (values[0].type_index, values[0].bits)).unwrap()
    }

    #[test]
    fn plain_values_are_themselves() {
        assert_eq!(value(Argument::None), (0, 0));
        assert_eq!(value(Argument::Int(-1)), (1, u64::MAX));
        assert_eq!(value(Argument::Bool(true)), (2, 1));
        assert_eq!(value(Argument::Float(0.5)), (3, 0.5f64.to_bits()));
        assert_eq!(value(Argument::Dtype(Dtype::F32)), (5, 0x0001_2002));
        assert_eq!(value(Argument::Device("cuda:1".into())), (6, 0x1_0000_0002));
    }

    #[test]
    fn what_the_abi_has_no_value_for_is_refused_with_its_name() {
        let refused = |argument| with(argument, |_| ()).unwrap_err();
        for argument in [Argument::Complex(0.0, 1.0), Argument::BigInt("9".repeat(30)), Argument::Dict(Vec::new())] {
            assert!(refused(argument).starts_with("argument `x` cannot be passed to a kernel of a library"));
        }
        assert!(refused(Argument::Str("a\0b".into())).contains("zero byte"));
        assert!(refused(Argument::Device("meta".into())).contains("`meta`"));
        let lazy = Layout { conj: true, ..Layout::contiguous(Dtype::C64, &[1]) };
        assert!(refused(Argument::Tensor(TensorRef { layout: lazy, storage: 0 })).contains("lazy"));
        let outside = Argument::Tensor(TensorRef { layout: Layout::contiguous(Dtype::F32, &[99]), storage: 0 });
        assert!(refused(outside).contains("beyond its storage"));
    }

    /// The object or structure that a value points to.
    fn at<T>(value: &Any) -> &T {
        // SAFETY: each test asks for the type that the value was made from, while the value lives.
        unsafe { &*(value.bits as usize as *const T) }
    }

    #[test]
    fn tensors_are_described_where_they_lie_and_outputs_come_last() {
        let layout = Layout { offset: 3, strides: vec![4, 1], ..Layout::contiguous(Dtype::I16, &[2, 2]) };
        with(Argument::Tensor(TensorRef { layout, storage: 0 }), |values| {
            assert_eq!(values.iter().map(|v| v.type_index).collect::<Vec<_>>(), [7, 7]);
            let (input, output): (&DlTensor, &DlTensor) = (at(&values[0]), at(&values[1]));
            assert_eq!((input.ndim, input.dtype.code, input.dtype.bits, input.byte_offset), (2, 0, 16, 0));
            // SAFETY: a tensor of two dimensions has as many strides and sizes, and its elements are in the storage.
            unsafe {
                assert_eq!(std::slice::from_raw_parts(input.strides, 2), [4, 1]);
                assert_eq!(std::slice::from_raw_parts(output.shape, 1), [2]);
                assert_eq!(*input.data.cast::<u8>(), 7);
            }
        })
        .unwrap();
    }

    #[test]
    fn texts_end_in_zero_and_lists_hold_objects() {
        let items = vec![Argument::Int(3), Argument::Str("same".into()), Argument::None];
        with(Argument::Tuple(items), |values| {
            assert_eq!(values[0].type_index, 71);
            let array: &Object<Sequence> = at(&values[0]);
            assert_eq!((array.header.type_index, array.cell.size), (71, 3));
            // SAFETY: the array has three items.
            let items = unsafe { std::slice::from_raw_parts(array.cell.data, 3) };
            assert_eq!(items.iter().map(|item| item.type_index).collect::<Vec<_>>(), [1, 65, 0]);
            let text: &Object<ByteArray> = at(&items[1]);
            // SAFETY: the text has `size` bytes and one more.
            let bytes = unsafe { std::slice::from_raw_parts(text.cell.data.cast::<u8>(), text.cell.size + 1) };
            assert_eq!(bytes, b"same\0");
        })
        .unwrap();
        with(Argument::Str("mean".into()), |values| {
            assert_eq!(values[0].type_index, 8);
            // SAFETY: the text ends in zero and is alive.
            let text = unsafe { std::ffi::CStr::from_ptr(values[0].bits as usize as *const c_char) };
            assert_eq!(text.to_bytes(), b"mean");
        })
        .unwrap();
    }
}
