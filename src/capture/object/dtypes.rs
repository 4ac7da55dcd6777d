//! Names of torch: dtypes, storage classes, layouts.

use super::super::dtype::{Dtype, DtypeKind};

/// The dtype of a `torch.*Storage` class; `Ok(None)` for the untyped one, `Err` if it is not a storage class.
pub(crate) fn storage_class(name: &str) -> Result<Option<Dtype>, ()> {
    let dtype = match name {
        "UntypedStorage" => return Ok(None),
        "DoubleStorage" => Dtype::F64,
        "FloatStorage" => Dtype::F32,
        "HalfStorage" => Dtype::F16,
        "BFloat16Storage" => Dtype::BF16,
        "LongStorage" => Dtype::I64,
        "IntStorage" => Dtype::I32,
        "ShortStorage" => Dtype::I16,
        "CharStorage" => Dtype::I8,
        "ByteStorage" => Dtype::U8,
        "BoolStorage" => Dtype::Bool,
        "ComplexDoubleStorage" => Dtype::C128,
        "ComplexFloatStorage" => Dtype::C64,
        "QInt8Storage" => Dtype::QI8,
        "QUInt8Storage" => Dtype::QU8,
        "QInt32Storage" => Dtype::QI32,
        "QUInt4x2Storage" => Dtype::QU4X2,
        "QUInt2x4Storage" => Dtype::QU2X4,
        _ => return Err(()),
    };
    Ok(Some(dtype))
}

/// The dtype that the global `torch.NAME` stands for.
pub(super) fn dtype(module: &str, name: &str) -> Option<Dtype> {
    let dtype = || Dtype::ALL.iter().copied().find(|d| d.name() == name);
    if module == "torch" { dtype() } else { None }
}

/// The bytes that are swapped together: one component of a complex element.
pub(crate) fn swap_width(dtype: Dtype) -> usize {
    let size = dtype.size() as usize;
    if dtype.is_complex() { size / 2 } else { size }
}

/// How many elements are in a byte: more than one only for the integers of two and four bits.
pub(super) fn per_byte(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::QU4X2 => 2,
        Dtype::QU2X4 => 4,
        _ => 1,
    }
}

/// Whether an element can be negated.
pub(super) fn can_negate(dtype: Dtype) -> bool {
    match dtype.kind() {
        DtypeKind::Float => !matches!(dtype, Dtype::F8E8M0FNU | Dtype::F4E2M1FNX2),
        DtypeKind::Complex | DtypeKind::Signed | DtypeKind::Unsigned => true,
        DtypeKind::Bool | DtypeKind::Opaque => false,
    }
}
