//! Integers beyond 64 bits, as LONG1 and LONG4 store them.

/// The integer that `bytes`, two's complement and little-endian, stand for, if 64 bits hold it.
pub(super) fn small(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let (low, high) = bytes.split_at(bytes.len().min(8));
    let mut word = [sign; 8];
    word[..low.len()].copy_from_slice(low);
    let value = i64::from_le_bytes(word);
    (high.iter().all(|&b| b == sign) && (value < 0) == negative).then_some(value)
}

/// The most bytes of a number that is printed in decimal: Python prints at most 4300 digits, and the work grows with
/// the square.
const DECIMAL_BYTES: usize = 1785;

/// The text of `bytes`, two's complement and little-endian: decimal, or hexadecimal beyond the digits that Python
/// prints.
pub(super) fn text(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut magnitude {
            let (value, carried) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (value, carried);
        }
    }
    let sign = if negative { "-" } else { "" };
    let digits = if bytes.len() > DECIMAL_BYTES { hexadecimal(&magnitude) } else { decimal(&magnitude) };
    format!("{sign}{digits}")
}

fn hexadecimal(magnitude: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let digits: String = magnitude.iter().rev().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect();
    format!("0x{}", digits.trim_start_matches('0'))
}

fn decimal(magnitude: &[u8]) -> String {
    const GROUP: u64 = 1_000_000_000;
    let mut words: Vec<u32> = magnitude
        .chunks(4)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)))
        .collect();
    let mut groups = Vec::new();
    while words.last().is_some() {
        let mut remainder = 0;
        for word in words.iter_mut().rev() {
            let value = remainder << 32 | u64::from(*word);
            *word = (value / GROUP) as u32;
            remainder = value % GROUP;
        }
        groups.push(remainder);
        while words.last() == Some(&0) {
            words.pop();
        }
    }
    let Some(first) = groups.pop() else { return "0".to_owned() };
    let rest: String = groups.iter().rev().map(|group| format!("{group:09}")).collect();
    format!("{first}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_more_than_64_bits_are_exact() {
        let two_to_70 = [0, 0, 0, 0, 0, 0, 0, 0, 0x40];
        assert_eq!(small(&two_to_70), None);
        assert_eq!(text(&two_to_70), "1180591620717411303424");
        let negative = [0, 0, 0, 0, 0, 0, 0, 0, 0xc0];
        assert_eq!(text(&negative), "-1180591620717411303424");
        assert_eq!(small(&[]), Some(0));
        assert_eq!(small(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]), None);
        assert_eq!(text(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]), "18446744073709551615");
        let mut huge = vec![0; 2000];
        huge[1999] = 1;
        assert_eq!(text(&huge), format!("0x1{}", "0".repeat(1999 * 2)));
    }

    proptest! {
        #[test]
        fn up_to_128_bits_they_print_as_rust_prints_them(n: i128) {
            prop_assert_eq!(text(&n.to_le_bytes()), n.to_string());
            prop_assert_eq!(small(&n.to_le_bytes()), i64::try_from(n).ok());
        }
        #[test]
        fn up_to_64_bits_they_are_small(n: i64, padding in 0usize..4) {
            let mut bytes = n.to_le_bytes().to_vec();
            bytes.extend(std::iter::repeat_n(if n < 0 { 0xff } else { 0 }, padding));
            prop_assert_eq!(small(&bytes), Some(n));
        }
    }
}
