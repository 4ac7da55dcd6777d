//! [`Dtype`]: the element types of PyTorch, under PyTorch's names.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! dtypes {
    ($($variant:ident = $name:literal, $size:literal, $kind:ident;)*) => {
        /// The type of a tensor's elements. Names are those of `torch` (`bfloat16`), sizes those of one element as
        /// stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum Dtype {
            $(#[doc = concat!("`torch.", $name, "`, ", $size, " bytes an element.")]
            #[serde(rename = $name)]
            $variant,)*
        }

        impl Dtype {
            /// Every dtype.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name of the dtype in `torch`, without `torch.`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The bytes of one element.
            pub const fn size(self) -> u64 {
                match self { $(Self::$variant => $size),* }
            }

            /// The kind of number that an element is.
            pub const fn kind(self) -> DtypeKind {
                match self { $(Self::$variant => DtypeKind::$kind),* }
            }
        }
    };
}

/// The kinds of [`Dtype`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtypeKind {
    /// A real floating-point number, 8-bit and 4-bit formats included.
    Float,
    /// A complex number: real part, then imaginary part.
    Complex,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A bool; bytes other than 0 and 1 are kept as they are.
    Bool,
    /// A quantized integer, or bits without a meaning of their own.
    Opaque,
}

dtypes! {
    F64 = "float64", 8, Float;
    F32 = "float32", 4, Float;
    F16 = "float16", 2, Float;
    BF16 = "bfloat16", 2, Float;
    F8E4M3FN = "float8_e4m3fn", 1, Float;
    F8E5M2 = "float8_e5m2", 1, Float;
    F8E4M3FNUZ = "float8_e4m3fnuz", 1, Float;
    F8E5M2FNUZ = "float8_e5m2fnuz", 1, Float;
    F8E8M0FNU = "float8_e8m0fnu", 1, Float;
    F4E2M1FNX2 = "float4_e2m1fn_x2", 1, Float;
    C128 = "complex128", 16, Complex;
    C64 = "complex64", 8, Complex;
    C32 = "complex32", 4, Complex;
    I64 = "int64", 8, Signed;
    I32 = "int32", 4, Signed;
    I16 = "int16", 2, Signed;
    I8 = "int8", 1, Signed;
    U64 = "uint64", 8, Unsigned;
    U32 = "uint32", 4, Unsigned;
    U16 = "uint16", 2, Unsigned;
    U8 = "uint8", 1, Unsigned;
    Bool = "bool", 1, Bool;
    QI8 = "qint8", 1, Opaque;
    QU8 = "quint8", 1, Opaque;
    QI32 = "qint32", 4, Opaque;
    QU4X2 = "quint4x2", 1, Opaque;
    QU2X4 = "quint2x4", 1, Opaque;
    Bits1X8 = "bits1x8", 1, Opaque;
    Bits2X4 = "bits2x4", 1, Opaque;
    Bits4X2 = "bits4x2", 1, Opaque;
    Bits8 = "bits8", 1, Opaque;
    Bits16 = "bits16", 2, Opaque;
}

impl Dtype {
    /// Whether an element is a real floating-point number.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), DtypeKind::Float)
    }

    /// Whether an element is a complex number.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), DtypeKind::Complex)
    }

    /// Whether an element is an integer.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), DtypeKind::Signed | DtypeKind::Unsigned)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not a dtype of PyTorch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a dtype: write PyTorch's name, such as `bfloat16`, `float32` or `int64`")]
pub struct ParseDtypeError(String);

impl FromStr for Dtype {
    type Err = ParseDtypeError;

    /// Takes PyTorch's names, with or without `torch.`, its aliases (`half`, `double`, `long` ...) and the short forms
    /// `f32`, `bf16`, `i64`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.strip_prefix("torch.").unwrap_or(text);
        let name = match name {
            "half" | "f16" => "float16",
            "bf16" => "bfloat16",
            "float" | "f32" => "float32",
            "double" | "f64" => "float64",
            "chalf" => "complex32",
            "cfloat" => "complex64",
            "cdouble" => "complex128",
            "short" | "i16" => "int16",
            "int" | "i32" => "int32",
            "long" | "i64" => "int64",
            "i8" => "int8",
            "u8" => "uint8",
            other => other,
        };
        Self::ALL.iter().copied().find(|d| d.name() == name).ok_or_else(|| ParseDtypeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse::<Dtype>(), Ok(dtype));
            assert_eq!(format!("torch.{dtype}").parse::<Dtype>(), Ok(dtype));
        }
        assert!("float7".parse::<Dtype>().is_err());
    }
}
