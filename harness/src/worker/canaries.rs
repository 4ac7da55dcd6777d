//! [`Canaries`]: output bytes that are changed between two launches, to see whether the second launch writes there.

use std::hash::{BuildHasher, RandomState};

use plimsoll::kernel::OutputBuffer;

use super::error::CallError;

/// The most canaries: setting them takes a few microseconds, as between two launches of a loop.
const MOST_CANARIES: usize = 1 << 12;
/// The fewest bytes per canary: a kernel that looks at a few bytes sees what it left there.
const STRETCH: usize = 16;
/// This many suffice to distinguish a skipped part from bytes that are equal by chance.
const ENOUGH_CANARIES: usize = 64;

/// The state of the canaries after a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The kernel wrote over them.
    Nothing,
    /// More remain than chance explains: the kernel skipped a part of its output.
    Part,
    /// All remain: the kernel wrote nothing.
    Everything,
}

impl Left {
    /// The error of a kernel that skips this much of its output.
    pub fn error(self) -> Option<CallError> {
        match self {
            Self::Nothing => None,
            Self::Part => Some(CallError::Partial),
            Self::Everything => Some(CallError::Idle),
        }
    }
}

/// Bytes that are changed in place, at unpredictable places: a kernel that looks at its output to find out whether it
/// is checked finds next to none of them.
pub struct Canaries(Vec<Canary>);

struct Canary {
    buffer: usize,
    at: usize,
    mask: u8,
    byte: u8,
}

impl Canaries {
    /// Chooses places in each stretch of `buffers`, without changing them yet.
    pub fn of(buffers: &mut [OutputBuffer<'_>]) -> Self {
        let sizes: Vec<usize> = buffers.iter_mut().map(|buffer| buffer.bytes_mut().len()).collect();
        let stretch = sizes.iter().sum::<usize>().div_ceil(MOST_CANARIES).max(STRETCH);
        let chance = RandomState::new();
        let mut canaries = Vec::new();
        for (buffer, &size) in sizes.iter().enumerate() {
            for start in (0..size).step_by(stretch) {
                let number = chance.hash_one((buffer, start));
                let at = start + (number >> 8) as usize % stretch.min(size - start);
                canaries.push(Canary { buffer, at, mask: number as u8 | 1, byte: 0 });
            }
        }
        Self(canaries)
    }

    /// Changes the bytes.
    pub fn set(&mut self, buffers: &mut [OutputBuffer<'_>]) {
        for Canary { buffer, at, mask, byte } in &mut self.0 {
            let place = &mut buffers[*buffer].bytes_mut()[*at];
            *place ^= *mask;
            *byte = *place;
        }
    }

    /// Which changes remain.
    pub fn left(&self, buffers: &mut [OutputBuffer<'_>]) -> Left {
        let stands = |canary: &&Canary| buffers[canary.buffer].bytes_mut()[canary.at] == canary.byte;
        let (all, left) = (self.0.len(), self.0.iter().filter(stands).count());
        match left {
            0 => Left::Nothing,
            _ if left == all => Left::Everything,
            _ if all >= ENOUGH_CANARIES && left >= part(all) => Left::Part,
            _ => Left::Nothing,
        }
    }
}

/// How many marks of `all` count as a part: about one in thirty if there are thousands, one in eight if there are few.
///
/// A launch that writes everywhere leaves a mark only if it writes exactly the marked byte. The kernel does not know
/// which of 128 odd masks was drawn, so each mark has a chance of at most 1/128, independently, however much the
/// kernel's results differ from launch to launch. By the binomial distribution such a kernel leaves this many marks in
/// less than one of ten million trials, whatever their number.
fn part(all: usize) -> usize {
    (all / 8).min(7 + all / 32)
}

#[cfg(test)]
mod tests {
    use plimsoll::capture::{Dtype, TensorSpec};

    use super::*;

    /// The state of canaries on two outputs of `bytes`, after a launch that writes `value` of the previous contents to
    /// the first `written` of each.
    fn left_by(bytes: u64, written: usize, value: impl Fn(u8) -> u8) -> Left {
        let spec = TensorSpec { dtype: Dtype::U8, shape: vec![bytes] };
        let (mut one, mut two) = (vec![7; bytes as usize], vec![9; bytes as usize]);
        let mut buffers = [&mut one, &mut two].map(|memory| OutputBuffer::new(&spec, memory).unwrap());
        let mut canaries = Canaries::of(&mut buffers);
        canaries.set(&mut buffers);
        for (buffer, before) in buffers.iter_mut().zip([7, 9]) {
            buffer.bytes_mut()[..written].fill(value(before));
        }
        canaries.left(&mut buffers)
    }

    fn left(bytes: u64, written: usize) -> Left {
        left_by(bytes, written, |before| before)
    }

    #[test]
    fn a_launch_writes_everything_a_part_or_nothing() {
        for bytes in [1, 100, 100_000] {
            assert_eq!(left(bytes, bytes as usize), Left::Nothing, "{bytes}");
            assert_eq!(left(bytes, 0), Left::Everything, "{bytes}");
        }
        assert_eq!(left(100_000, 50_000), Left::Part);
        assert_eq!(left(100_000, 99_000), Left::Nothing);
        assert_eq!(left(0, 0), Left::Nothing);
    }

    #[test]
    fn a_ninth_that_is_left_out_is_a_part_and_so_is_a_twentieth_of_a_large_output() {
        for bytes in [900, 9_000, 90_000, 9_000_000] {
            assert_eq!(left(bytes, bytes as usize / 9 * 8), Left::Part, "{bytes}");
        }
        assert_eq!(left(90_000, 90_000 / 20 * 19), Left::Part);
    }

    #[test]
    fn a_kernel_that_turns_every_bit_that_a_mark_may_be_is_not_accused() {
        for bytes in [600, 2_000, 90_000] {
            // One of the 128 masks of a mark is this difference.
            assert_eq!(left_by(bytes, bytes as usize, |before| before ^ 1), Left::Nothing, "{bytes}");
            assert_eq!(left_by(bytes, bytes as usize, |before| before ^ 0xff), Left::Nothing, "{bytes}");
        }
    }

    #[test]
    fn so_many_marks_are_left_by_chance_in_less_than_one_of_ten_million_trials() {
        for all in ENOUGH_CANARIES..=MOST_CANARIES {
            // The binomial distribution's tail from `part(all)` on, whose terms fall to nothing within a few hundred.
            let mut term = (127f64 / 128.0).powi(all as i32);
            let mut tail = 0.0;
            for left in 1..=all.min(400) {
                term *= (all - left + 1) as f64 / left as f64 / 127.0;
                tail += if left >= part(all) { term } else { 0.0 };
            }
            assert!(tail < 1e-7, "{tail} of {all}");
        }
    }
}
