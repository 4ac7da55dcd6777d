//! Floats in hexadecimal, exactly as Python's `float.hex` writes them.

/// `value` in hexadecimal: `0x1.8000000000000p+1`, `-0x0.0p+0`, `nan`.
pub(super) fn hex_float(value: f64) -> String {
    const MANTISSA: u64 = (1 << 52) - 1;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let (biased, mantissa) = (value.to_bits() >> 52 & 0x7ff, value.to_bits() & MANTISSA);
    match (biased, mantissa) {
        (0, 0) => format!("{sign}0x0.0p+0"),
        (0, mantissa) => format!("{sign}0x0.{mantissa:013x}p-1022"),
        (biased, mantissa) => format!("{sign}0x1.{mantissa:013x}p{:+}", biased as i64 - 1023),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, text) in [
            (0.0, "0x0.0p+0"),
            (-0.0, "-0x0.0p+0"),
            (0.1, "0x1.999999999999ap-4"),
            (-3.0, "-0x1.8000000000000p+1"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
            (f64::from_bits(1), "0x0.0000000000001p-1022"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(hex_float(value), text);
        }
    }

    /// The number that `text` stands for, by the definition of the notation.
    fn parse(text: &str) -> f64 {
        let (sign, rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
        let (digits, exponent) = rest.strip_prefix("0x").unwrap().split_once('p').unwrap();
        let (whole, fraction) = digits.split_once('.').unwrap();
        let fraction = u64::from_str_radix(fraction, 16).unwrap() as f64 / 16f64.powi(fraction.len() as i32);
        let exponent: i32 = exponent.parse().unwrap();
        // Two steps are needed: a float cannot hold 2^-1074 beside a mantissa.
        let half = exponent / 2;
        sign * (whole.parse::<f64>().unwrap() + fraction) * 2f64.powi(half) * 2f64.powi(exponent - half)
    }

    proptest! {
        #[test]
        fn every_finite_float_comes_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse(&hex_float(value)).to_bits(), bits, "{}", hex_float(value));
        }
    }
}
