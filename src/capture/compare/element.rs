//! A single element: the meaning of its bytes, whether a pair matches, and how it is written.
//!
//! This is the meaning that the block scans of `float.rs` and `integer.rs` compute faster.

use half::{bf16, f16};

use super::minifloat;
use super::rule::Limits;
use crate::Dtype;

/// What the bits of an element mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A float judged in f32.
    Single(f32),
    /// A float judged in f64.
    Double(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    Integer(i128),
    /// The byte of a bool.
    Truth(u8),
    /// Quantized values and bits, which have no meaning of their own.
    Bits,
}

/// One element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub bits: u128,
    pub number: Number,
}

/// The values in one stored element: two in a byte of `float4_e2m1fn_x2`.
pub(super) const fn values_per_element(dtype: Dtype) -> u64 {
    if matches!(dtype, Dtype::F4E2M1FNX2) { 2 } else { 1 }
}

impl Element {
    /// The value at `index` of `bytes`, elements of `dtype` one after the other.
    pub fn at(dtype: Dtype, bytes: &[u8], index: usize) -> Self {
        if dtype == Dtype::F4E2M1FNX2 {
            let code = bytes[index / 2] >> (4 * (index % 2)) & 0xf;
            return Self { bits: code.into(), number: Number::Single(minifloat::E2M1FN[usize::from(code)]) };
        }
        let size = dtype.size() as usize;
        let mut buffer = [0; 16];
        buffer[..size].copy_from_slice(&bytes[index * size..][..size]);
        let bits = u128::from_le_bytes(buffer);
        // Truncation to the width of the dtype is meant throughout.
        let half = |part: u128| f64::from(f16::from_bits(part as u16));
        let single = |part: u128| f64::from(f32::from_bits(part as u32));
        let double = |part: u128| f64::from_bits(part as u64);
        let number = match dtype {
            Dtype::F64 => Number::Double(double(bits)),
            Dtype::F32 => Number::Single(f32::from_bits(bits as u32)),
            Dtype::F16 => Number::Single(f16::from_bits(bits as u16).to_f32()),
            Dtype::BF16 => Number::Single(bf16::from_bits(bits as u16).to_f32()),
            Dtype::C128 => Number::Complex(double(bits), double(bits >> 64)),
            Dtype::C64 => Number::Complex(single(bits), single(bits >> 32)),
            Dtype::C32 => Number::Complex(half(bits), half(bits >> 16)),
            Dtype::I64 => Number::Integer((bits as i64).into()),
            Dtype::I32 => Number::Integer((bits as i32).into()),
            Dtype::I16 => Number::Integer((bits as i16).into()),
            Dtype::I8 => Number::Integer((bits as i8).into()),
            Dtype::U64 | Dtype::U32 | Dtype::U16 | Dtype::U8 => Number::Integer(bits as i128),
            Dtype::Bool => Number::Truth(bits as u8),
            other => {
                minifloat::table(other).map_or(Number::Bits, |table| Number::Single(table[usize::from(bits as u8)]))
            }
        };
        Self { bits, number }
    }

    /// Whether the element is NaN; a complex number is NaN if either part is.
    pub fn is_nan(&self) -> bool {
        match self.number {
            Number::Single(x) => x.is_nan(),
            Number::Double(x) => x.is_nan(),
            Number::Complex(re, im) => re.is_nan() || im.is_nan(),
            _ => false,
        }
    }

    /// The number used for ranges: the modulus of a complex number, NaN or infinite if the element is, and NaN for
    /// anything that is neither a float nor complex.
    pub fn real(&self) -> f64 {
        match self.number {
            Number::Single(x) => x.into(),
            Number::Double(x) => x,
            // The modulus of finite parts may exceed f64's range: it is then given as f64's largest number.
            Number::Complex(re, im) if re.is_finite() && im.is_finite() => modulus(re, im).min(f64::MAX),
            Number::Complex(re, im) if !re.is_nan() && !im.is_nan() => f64::INFINITY,
            _ => f64::NAN,
        }
    }

    /// |self - expected| in f64, at most f64's largest number, for elements of one dtype whose [`Element::real`] is
    /// finite.
    pub fn distance(&self, expected: &Self) -> f64 {
        let distance = match (self.number, expected.number) {
            (Number::Complex(a, b), Number::Complex(c, d)) => modulus(a - c, b - d),
            _ => (self.real() - expected.real()).abs(),
        };
        distance.min(f64::MAX)
    }

    /// Whether the element matches `expected`, an element of the same dtype.
    pub fn matches(&self, expected: &Self, limits: &Limits) -> bool {
        if limits.bitwise {
            return self.bits == expected.bits;
        }
        if self.is_nan() && expected.is_nan() {
            return limits.equal_nan;
        }
        let close =
            |distance: f64, magnitude: f64| distance.is_finite() && distance <= limits.atol + limits.rtol * magnitude;
        match (self.number, expected.number) {
            (Number::Single(a), Number::Single(e)) => {
                let (rtol, atol) = (single(limits.rtol), single(limits.atol));
                let distance = (a - e).abs();
                a == e || (distance.is_finite() && distance <= atol + rtol * e.abs())
            }
            (Number::Double(a), Number::Double(e)) => a == e || close((a - e).abs(), e.abs()),
            (Number::Complex(a, b), Number::Complex(c, d)) => {
                (a == c && b == d) || close(modulus(a - c, b - d), modulus(c, d))
            }
            (Number::Integer(a), Number::Integer(e)) => close(a.abs_diff(e) as f64, e.unsigned_abs() as f64),
            (Number::Truth(a), Number::Truth(e)) => (a != 0) == (e != 0),
            _ => self.bits == expected.bits,
        }
    }

    /// The element in words; see [`super::Mismatch`].
    pub fn text(&self) -> String {
        match self.number {
            Number::Single(x) => float_text(x.is_nan(), format!("{x:?}")),
            Number::Double(x) => float_text(x.is_nan(), format!("{x:?}")),
            Number::Complex(re, im) => {
                let part = |x: f64, plus: bool| {
                    let text = float_text(x.is_nan(), format!("{x:?}"));
                    let text = text.strip_suffix(".0").unwrap_or(&text).to_owned();
                    if plus && !text.starts_with('-') { format!("+{text}") } else { text }
                };
                format!("({}{}j)", part(re, false), part(im, true))
            }
            Number::Integer(n) => n.to_string(),
            Number::Truth(0) => "False".to_owned(),
            Number::Truth(1) => "True".to_owned(),
            Number::Truth(byte) => format!("True (byte {byte})"),
            Number::Bits => format!("{:#x}", self.bits),
        }
    }
}

/// |re + im j|, without the cost of `hypot` if the squares stay within f64's range.
fn modulus(re: f64, im: f64) -> f64 {
    let square = re * re + im * im;
    if (1e-280..1e300).contains(&square) || (re == 0.0 && im == 0.0) { square.sqrt() } else { re.hypot(im) }
}

/// A float as Python writes it; a NaN is written without its sign.
fn float_text(is_nan: bool, text: String) -> String {
    if is_nan { "nan".to_owned() } else { text }
}

/// A tolerance in f32; one beyond f32's range tolerates every finite distance.
pub(super) fn single(tolerance: f64) -> f32 {
    (tolerance as f32).min(f32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_written_as_python_writes_them() {
        let text = |dtype, bytes: &[u8]| Element::at(dtype, bytes, 0).text();
        assert_eq!(text(Dtype::F16, &0x3800u16.to_le_bytes()), "0.5");
        assert_eq!(text(Dtype::F32, &(-f32::NAN).to_le_bytes()), "nan");
        assert_eq!(text(Dtype::F64, &f64::NEG_INFINITY.to_le_bytes()), "-inf");
        assert_eq!(text(Dtype::F32, &(-0.0f32).to_le_bytes()), "-0.0");
        let complex = [1.0f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat();
        assert_eq!(text(Dtype::C64, &complex), "(1-2.5j)");
        let complex = [f64::NAN.to_le_bytes(), f64::INFINITY.to_le_bytes()].concat();
        assert_eq!(text(Dtype::C128, &complex), "(nan+infj)");
        assert_eq!(text(Dtype::I8, &[0xff]), "-1");
        assert_eq!(text(Dtype::U64, &[0xff; 8]), "18446744073709551615");
        assert_eq!(text(Dtype::Bool, &[2]), "True (byte 2)");
        assert_eq!(text(Dtype::QI8, &[0x1f]), "0x1f");
    }

    #[test]
    fn the_low_half_of_a_byte_is_the_first_float4() {
        let values: Vec<String> = (0..2).map(|i| Element::at(Dtype::F4E2M1FNX2, &[0xa7], i).text()).collect();
        assert_eq!(values, ["6.0", "-1.0"]);
    }
}
