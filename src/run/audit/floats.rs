//! [`Format`]: new floating-point numbers of the size of given ones, which no table of given ones has.
//!
//! Numbers are handled as bits: without its sign, the bits of a floating-point number grow with it, and those of its
//! logarithm nearly do. No number becomes larger than the ones that it is made of, zeros, infinities, NaN and the huge
//! numbers of masks keep their places, and each place keeps its order of magnitude: outliers stay in their channels,
//! and what a comparison allows stays as apt as it was.

use plimsoll_capture::Dtype;

/// How many powers of two the number of another place may be away.
const NEAR: u64 = 2;
/// Masks hold numbers from this power of two on, if they hold no infinity.
const HUGE: u64 = 64;

/// A floating-point format: bytes of one number, bits of its fraction, the power of two that an exponent of 0 stands
/// for, and the first bits that are no finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) bytes: usize,
    fraction: u32,
    bias: u64,
    end: u64,
}

/// How much smaller numbers become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Smaller {
    shift: u64,
    /// The bits by which each is smaller besides.
    noise: u64,
    /// The least size that is allowed.
    lowest: u64,
}

/// [`Format::renew`] for one width. Most of the time of an audit itself went here: masks in place of branches let the
/// compiler handle several numbers at once.
macro_rules! renew {
    ($name:ident, $bits:ty) => {
        fn $name(format: Format, numbers: &mut [u8], others: &[u8], noise: &[u8], smaller: Smaller) {
            let (numbers, _) = numbers.as_chunks_mut();
            let (others, _) = others.as_chunks();
            let (noise, _) = noise.as_chunks();
            let count = numbers.len().min(others.len()).min(noise.len());
            let (numbers, others, noise) = (&mut numbers[..count], &others[..count], &noise[..count]);
            let (sign, most) = (format.sign() as $bits, format.most() as $bits);
            let (near, power) = ((NEAR * format.octave()) as $bits, !(format.octave() - 1) as $bits);
            let (shift, mask, lowest) = (smaller.shift as $bits, smaller.noise as $bits, smaller.lowest as $bits);
            let all = |is: bool| <$bits>::from(is).wrapping_neg();
            // Of a size that does not stay.
            let moves = |size: $bits| all(size.wrapping_sub(1) < most - 1);
            for at in 0..count {
                let (old, other) = (<$bits>::from_le_bytes(numbers[at]), <$bits>::from_le_bytes(others[at]));
                let (old_size, other_size) = (old & !sign, other & !sign);
                let is_near = all((old_size & power).abs_diff(other_size & power) <= near);
                let taken = is_near & moves(other_size);
                let base = (other & taken) | (old & !taken);
                let (size, by) = (base & !sign, shift + (<$bits>::from_le_bytes(noise[at]) & mask));
                let less = size.wrapping_sub(by);
                let fits = all(size > by) & all(less >= lowest);
                let size = (less & fits) | (size & !fits);
                let changes = moves(old_size);
                let new = (((base & sign) | size) & changes) | (old & !changes);
                numbers[at] = new.to_le_bytes();
            }
        }
    };
}

renew!(renew_u8, u8);
renew!(renew_u16, u16);
renew!(renew_u32, u32);
renew!(renew_u64, u64);

impl Format {
    /// The format of the parts of an element; `None` if not a plain one.
    pub(super) fn of(dtype: Dtype) -> Option<Self> {
        let of = |bytes, fraction, bias, end| Some(Self { bytes, fraction, bias, end });
        match dtype {
            Dtype::F64 | Dtype::C128 => of(8, 52, 1023, 0x7ff << 52),
            Dtype::F32 | Dtype::C64 => of(4, 23, 127, 0xff << 23),
            Dtype::F16 | Dtype::C32 => of(2, 10, 15, 0x1f << 10),
            Dtype::BF16 => of(2, 7, 127, 0xff << 7),
            Dtype::F8E4M3FN => of(1, 3, 7, 0x7f),
            Dtype::F8E5M2 => of(1, 2, 15, 0x7c),
            _ => None,
        }
    }

    /// The number at the start of `bytes`, as bits.
    pub(super) fn bits(self, bytes: &[u8]) -> u64 {
        // By fixed sizes: a part of a word that was just written is slow to read.
        match *bytes {
            [a, ..] if self.bytes == 1 => a.into(),
            [a, b, ..] if self.bytes == 2 => u16::from_le_bytes([a, b]).into(),
            [a, b, c, d, ..] if self.bytes == 4 => u32::from_le_bytes([a, b, c, d]).into(),
            _ => bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        }
    }

    fn sign(self) -> u64 {
        1 << (8 * self.bytes - 1)
    }

    pub(super) fn size_of(self, bits: u64) -> u64 {
        bits & !self.sign()
    }

    /// One power of two.
    fn octave(self) -> u64 {
        1 << self.fraction
    }

    /// The least size that keeps its place: infinities, NaN, and numbers as huge as those of masks.
    fn most(self) -> u64 {
        self.end.min((self.bias + HUGE) << self.fraction)
    }

    /// Whether a number keeps its place: zero, or one of at least [`Format::most`].
    pub(super) fn stays(self, bits: u64) -> bool {
        let size = self.size_of(bits);
        size == 0 || size >= self.most()
    }

    /// Whether a number is whole.
    pub(super) fn is_whole(self, bits: u64) -> bool {
        let size = self.size_of(bits);
        if size == 0 || size >= self.end {
            return true;
        }
        let power = (size >> self.fraction).saturating_sub(self.bias);
        size >> self.fraction >= self.bias
            && (power >= u64::from(self.fraction) || size & ((self.octave() - 1) >> power) == 0)
    }

    /// The smallest size that numbers like `sizes` may take: the least of them, or half of the greatest.
    pub(super) fn lowest(self, sizes: impl Iterator<Item = u64>) -> u64 {
        let (low, high) = sizes.fold((u64::MAX, 0), |(low, high), size| (low.min(size), high.max(size)));
        low.min(high.saturating_sub(self.octave())).max(1)
    }

    /// New numbers in place of `numbers`, made of `others` where these are about as large. `noise` is as long as they are.
    pub(super) fn renew(self, numbers: &mut [u8], others: &[u8], noise: &[u8], smaller: Smaller) {
        match self.bytes {
            1 => renew_u8(self, numbers, others, noise, smaller),
            2 => renew_u16(self, numbers, others, noise, smaller),
            4 => renew_u32(self, numbers, others, noise, smaller),
            _ => renew_u64(self, numbers, others, noise, smaller),
        }
    }

    /// Numbers smaller by up to a half, all of a launch by as much, and each a little more, but none below `lowest`.
    pub(super) fn by_half(self, word: u64, lowest: u64) -> Smaller {
        Smaller { shift: word % self.octave(), noise: (self.octave() / 8).max(1) - 1, lowest }
    }

    /// Numbers smaller by at most a sixty-fourth.
    pub(super) fn by_little(self, lowest: u64) -> Smaller {
        Smaller { shift: 0, noise: (self.octave() / 64).max(2) - 1, lowest }
    }

    /// A number that differs from `old` in the last bit, up or down.
    pub(super) fn shaken(self, old: u64, word: u64) -> u64 {
        match (self.stays(old), word & 1) {
            (true, _) => old,
            (false, 0) => old - 1,
            (false, _) => old + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const F32: Format = Format { bytes: 4, fraction: 23, bias: 127, end: 0xff << 23 };

    fn bits(x: f32) -> u64 {
        x.to_bits().into()
    }

    #[test]
    fn a_number_is_made_of_one_as_large_and_is_not_it() {
        assert_eq!(Format::of(Dtype::F32), Some(F32));
        let of = |old: f32, other: f32, word: u32, smaller| {
            let mut number = old.to_le_bytes();
            F32.renew(&mut number, &other.to_le_bytes(), &word.to_le_bytes(), smaller);
            f32::from_le_bytes(number)
        };
        let made = |old, other, shift| of(old, other, 12345, F32.by_half(shift, bits(1e-3)));
        let near = made(1.0, -1.5, 0);
        assert!(near < -1.4 && near > -1.5, "{near}");
        assert!((0.49..0.53).contains(&made(1.0, 100.0, F32.octave() - 1)), "an outlier stays in its place");
        for stays in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN] {
            assert_eq!(made(stays, 1.0, 9).to_bits(), stays.to_bits());
            assert!((0.9..1.0).contains(&made(1.0, stays, 0)));
        }
        assert!(made(f32::NAN, 1.0, 9).is_nan());
        assert!(made(1.1e-3, 1.0, F32.octave() - 1) >= 1e-3, "none is smaller than the least");
        for (word, near) in [(0, 1.0f32.next_down()), (1, 1.0f32.next_up())] {
            assert_eq!(f32::from_bits(F32.shaken(bits(1.0), word) as u32), near);
            assert_eq!(F32.shaken(bits(0.0), word), bits(0.0));
        }
        let nudged = of(3.0, 3.0, u32::MAX, F32.by_little(1));
        assert!(nudged < 3.0 && nudged > 2.9, "{nudged}");
    }

    #[test]
    fn whole_numbers_are_known() {
        for (x, whole) in
            [(0.0, true), (1.0, true), (-3.0, true), (1e20, true), (0.5, false), (2.5, false), (1e-9, false)]
        {
            assert_eq!(F32.is_whole(bits(x)), whole, "{x}");
        }
        let eight = Format::of(Dtype::F8E4M3FN).unwrap();
        assert!(eight.is_whole(0x38) && !eight.is_whole(0x3a) && eight.stays(0x7f) && !eight.stays(0x7e));
    }

    proptest! {
        /// In each format: what stays does, and what becomes another number is not larger than what it is made of.
        #[test]
        fn numbers_keep_their_places_and_do_not_grow(old: u64, other: u64, noise: u64, shift: u64) {
            for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F8E4M3FN, Dtype::F8E5M2] {
                let format = Format::of(dtype).unwrap();
                let part = |bits: u64| bits.to_le_bytes()[..format.bytes].to_vec();
                let (mut number, other) = (part(old), part(other));
                let (old, other) = (format.bits(&number), format.bits(&other));
                format.renew(&mut number, &part(other), &part(noise), format.by_half(shift, 2));
                let new = format.bits(&number);
                if format.stays(old) {
                    prop_assert_eq!(new, old);
                } else {
                    let most = if format.stays(other) { 0 } else { format.size_of(other) }.max(format.size_of(old));
                    prop_assert!(format.size_of(new) <= most && !format.stays(new), "{:x} from {:x} and {:x}", new, old, other);
                }
            }
        }
    }
}
