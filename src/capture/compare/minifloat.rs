//! The floats of 8 and 4 bits, as tables of their values in f32.

use crate::Dtype;

/// The value of each code, for the 8-bit float dtypes; `None` for all others.
///
/// No two codes have the same bits in the table, NaN included (it carries its code): equality of bits there is equality
/// of codes.
pub(super) fn table(dtype: Dtype) -> Option<&'static [f32; 256]> {
    match dtype {
        Dtype::F8E4M3FN => Some(&E4M3FN),
        Dtype::F8E5M2 => Some(&E5M2),
        Dtype::F8E4M3FNUZ => Some(&E4M3FNUZ),
        Dtype::F8E5M2FNUZ => Some(&E5M2FNUZ),
        Dtype::F8E8M0FNU => Some(&E8M0FNU),
        _ => None,
    }
}

/// How a format encodes values that are not numbers.
#[derive(Clone, Copy)]
enum Special {
    /// Inf and NaN in the largest exponent, as IEEE 754 has them.
    Ieee,
    /// NaN if exponent and mantissa are all ones; no Inf.
    AllOnes,
    /// NaN in the place of -0; no Inf.
    NegativeZero,
    /// Numbers only.
    None,
}

static E4M3FN: [f32; 256] = values(4, 3, 7, Special::AllOnes);
static E5M2: [f32; 256] = values(5, 2, 15, Special::Ieee);
static E4M3FNUZ: [f32; 256] = values(4, 3, 8, Special::NegativeZero);
static E5M2FNUZ: [f32; 256] = values(5, 2, 16, Special::NegativeZero);
static E8M0FNU: [f32; 256] = powers();
pub(super) static E2M1FN: [f32; 16] = values(2, 1, 1, Special::None);

const fn nan(negative: bool, code: usize) -> f32 {
    f32::from_bits(0x7fc0_0000 | (negative as u32) << 31 | code as u32)
}

/// The values of the format with a sign bit, `exponent` bits of exponent with `bias`, and `mantissa` bits.
const fn values<const CODES: usize>(exponent: u32, mantissa: u32, bias: i32, special: Special) -> [f32; CODES] {
    let mut values = [0.0; CODES];
    let sign = CODES / 2;
    let mut code = 0;
    while code < CODES {
        let negative = code & sign != 0;
        let e = (code & (sign - 1)) as i32 >> mantissa;
        let m = (code & ((1 << mantissa) - 1)) as u32;
        let all_ones = e == (1 << exponent) - 1;
        let magnitude = if e == 0 {
            m as f32 * power_of_two(1 - bias - mantissa as i32)
        } else {
            (m + (1 << mantissa)) as f32 * power_of_two(e - bias - mantissa as i32)
        };
        let magnitude = match special {
            Special::Ieee if all_ones && m == 0 => f32::INFINITY,
            Special::Ieee if all_ones => nan(false, code),
            Special::AllOnes if code & (sign - 1) == sign - 1 => nan(false, code),
            Special::NegativeZero if code == sign => nan(false, code),
            _ => magnitude,
        };
        values[code] = if negative { -magnitude } else { magnitude };
        code += 1;
    }
    values
}

/// 2^`exponent`, for exponents of f32's normal numbers.
const fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// `float8_e8m0fnu`: powers of two from 2^-127, without a sign.
const fn powers() -> [f32; 256] {
    let mut values = [0.0; 256];
    values[0] = f32::from_bits(0x0040_0000);
    let mut code = 1;
    while code < 255 {
        values[code] = f32::from_bits((code as u32) << 23);
        code += 1;
    }
    values[255] = nan(false, 255);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// CRC-32 of the 256 values in f32, little-endian, NaN as 0x7fc00000, from torch 2.11:
    /// `torch.arange(256, dtype=torch.uint8).view(dtype).float()`.
    const TORCH: [(Dtype, u32); 5] = [
        (Dtype::F8E4M3FN, 0x2fde_e9ac),
        (Dtype::F8E5M2, 0x3d83_fd11),
        (Dtype::F8E4M3FNUZ, 0xf2df_a052),
        (Dtype::F8E5M2FNUZ, 0x09c7_0b84),
        (Dtype::F8E8M0FNU, 0x7199_79ba),
    ];

    #[test]
    fn codes_have_the_values_that_torch_gives_them() {
        for (dtype, crc) in TORCH {
            let table = table(dtype).unwrap();
            let bytes: Vec<u8> =
                table.iter().flat_map(|x| if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }.to_le_bytes()).collect();
            assert_eq!(crc32fast::hash(&bytes), crc, "{dtype}");
        }
        let positive = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        assert_eq!(E2M1FN[..8], positive);
        assert_eq!(E2M1FN[8..], positive.map(|x| -x));
    }

    #[test]
    fn no_two_codes_share_their_bits() {
        for (dtype, _) in TORCH {
            let bits: HashSet<u32> = table(dtype).unwrap().iter().map(|x| x.to_bits()).collect();
            assert_eq!(bits.len(), 256, "{dtype}");
        }
        assert_eq!(E2M1FN.iter().map(|x| x.to_bits()).collect::<HashSet<_>>().len(), 16);
    }
}
