//! The TVM-FFI C ABI as data: the memory layouts that a kernel of a library shares with its caller.
//!
//! The layouts are those of `tvm/ffi/c_api.h` and `dlpack.h` (versions 0.1 and 1.x). Nothing here is unsafe: values are
//! written by [`arguments`](super::arguments) and read by C.

use std::ffi::{c_char, c_int, c_void};

use crate::Dtype;

/// The type of an [`Any`], by its number.
pub(super) mod index {
    pub const NONE: i32 = 0;
    pub const INT: i32 = 1;
    pub const BOOL: i32 = 2;
    pub const FLOAT: i32 = 3;
    pub const DATA_TYPE: i32 = 5;
    pub const DEVICE: i32 = 6;
    pub const TENSOR_POINTER: i32 = 7;
    pub const RAW_STRING: i32 = 8;
    pub const BYTE_ARRAY_POINTER: i32 = 9;
    /// Values from here on are objects with a count of references.
    pub const OBJECTS: i32 = 64;
    pub const STRING: i32 = 65;
    pub const BYTES: i32 = 66;
    pub const TENSOR: i32 = 70;
    pub const ARRAY: i32 = 71;
}

/// `TVMFFIAny`: a value, or a pointer to one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Any {
    pub type_index: i32,
    pub padding: u32,
    /// The value, whose meaning depends on the type: an integer, a float, a pointer, a data type, a device.
    pub bits: u64,
}

impl Any {
    pub const NONE: Self = Self::new(index::NONE, 0);

    pub const fn new(type_index: i32, bits: u64) -> Self {
        Self { type_index, padding: 0, bits }
    }

    pub fn pointer<T>(type_index: i32, to: *const T) -> Self {
        Self::new(type_index, to as usize as u64)
    }
}

/// `TVMFFISafeCallType`.
pub(super) type SafeCall = unsafe extern "C" fn(*mut c_void, *const Any, i32, *mut Any) -> c_int;

/// `TVMFFIByteArray`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteArray {
    pub data: *const c_char,
    pub size: usize,
}

/// `TVMFFIObject`: the header of every object.
#[repr(C)]
pub(super) struct Header {
    /// Strong reference counts in the lower half, weak ones in the upper.
    pub references: u64,
    pub type_index: i32,
    pub padding: u32,
    pub deleter: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
}

/// An object of ours that is lent to a kernel: its header, then the content of its type.
#[repr(C)]
pub(super) struct Object<T> {
    pub header: Header,
    pub cell: T,
}

impl<T> Object<T> {
    /// Makes an object that no kernel can delete: we never release our reference, and the deleter does nothing.
    pub fn lent(type_index: i32, cell: T) -> Self {
        unsafe extern "C" fn nothing(_object: *mut c_void, _flags: c_int) {}
        let references = (1 << 32) | 1;
        Self { header: Header { references, type_index, padding: 0, deleter: Some(nothing) }, cell }
    }
}

/// `TVMFFISeqCell`: the items of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub data: *const Any,
    pub size: i64,
    pub capacity: i64,
    pub data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The front of `TVMFFIErrorCell`.
#[repr(C)]
pub(super) struct ErrorCell {
    pub kind: ByteArray,
    pub message: ByteArray,
    pub backtrace: ByteArray,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DlTensor {
    pub data: *mut c_void,
    pub device: DlDevice,
    pub ndim: i32,
    pub dtype: DlDataType,
    pub shape: *const i64,
    pub strides: *const i64,
    pub byte_offset: u64,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DlDevice {
    pub device_type: i32,
    pub device_id: i32,
}

impl DlDevice {
    pub const CPU: Self = Self { device_type: 1, device_id: 0 };

    /// The GPU with this number.
    pub const fn cuda(index: u32) -> Self {
        Self { device_type: 2, device_id: index.cast_signed() }
    }

    /// The device with this PyTorch name; `None` if DLPack has no number for it.
    pub fn named(name: &str) -> Option<Self> {
        let (kind, id) = name.split_once(':').unwrap_or((name, "0"));
        let device_type = match kind {
            "cpu" => 1,
            "cuda" => 2,
            "vulkan" => 7,
            "mps" => 8,
            "hip" => 10,
            "xpu" => 14,
            "maia" => 17,
            _ => return None,
        };
        Some(Self { device_type, device_id: id.parse().ok()? })
    }

    pub fn bits(self) -> u64 {
        u64::from(self.device_type as u32) | u64::from(self.device_id as u32) << 32
    }
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DlDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

impl DlDataType {
    /// The data type of elements of `dtype`; `None` for quantized ones and for bits without a meaning.
    pub fn of(dtype: Dtype) -> Option<Self> {
        use Dtype::*;
        let code = match dtype {
            I8 | I16 | I32 | I64 => 0,
            U8 | U16 | U32 | U64 => 1,
            F16 | F32 | F64 => 2,
            BF16 => 4,
            C32 | C64 | C128 => 5,
            Bool => 6,
            F8E4M3FN => 10,
            F8E4M3FNUZ => 11,
            F8E5M2 => 12,
            F8E5M2FNUZ => 13,
            F8E8M0FNU => 14,
            F4E2M1FNX2 => return Some(Self { code: 17, bits: 4, lanes: 2 }),
            QI8 | QU8 | QI32 | QU4X2 | QU2X4 | Bits1X8 | Bits2X4 | Bits4X2 | Bits8 | Bits16 => return None,
        };
        Some(Self { code, bits: dtype.size() as u8 * 8, lanes: 1 })
    }

    pub fn packed(self) -> u64 {
        u64::from(self.code) | u64::from(self.bits) << 8 | u64::from(self.lanes) << 16
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!((size_of::<Any>(), offset_of!(Any, bits)), (16, 8));
        assert_eq!((size_of::<Header>(), offset_of!(Header, deleter)), (24, 16));
        assert_eq!(offset_of!(Object<ErrorCell>, cell), 24);
        assert_eq!(size_of::<DlTensor>(), 48);
        assert_eq!((offset_of!(DlTensor, ndim), offset_of!(DlTensor, dtype)), (16, 20));
        assert_eq!((offset_of!(DlTensor, shape), offset_of!(DlTensor, byte_offset)), (24, 40));
        assert_eq!(size_of::<Sequence>(), 32);
    }

    #[test]
    fn data_types_and_devices_are_dlpacks() {
        let of = |dtype| DlDataType::of(dtype).map(|d| (d.code, d.bits, d.lanes));
        assert_eq!(of(Dtype::BF16), Some((4, 16, 1)));
        assert_eq!(of(Dtype::C64), Some((5, 64, 1)));
        assert_eq!(of(Dtype::Bool), Some((6, 8, 1)));
        assert_eq!(of(Dtype::F4E2M1FNX2), Some((17, 4, 2)));
        assert_eq!(of(Dtype::QI8), None);
        assert_eq!(DlDataType { code: 4, bits: 16, lanes: 1 }.packed(), 0x0001_1004);
        assert_eq!(DlDevice::named("cuda:3"), Some(DlDevice { device_type: 2, device_id: 3 }));
        assert_eq!(DlDevice::named("cpu"), Some(DlDevice::CPU));
        assert_eq!(DlDevice::named("meta"), None);
        assert_eq!(DlDevice { device_type: 2, device_id: 1 }.bits(), 0x1_0000_0002);
    }
}
