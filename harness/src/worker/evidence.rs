//! [`Evidence`]: which elements of the outputs follow the arguments of a kernel, and which ones did not although they
//! should have.

use std::ops::Range;

use plimsoll::run::Placement;

use super::rules::{ENOUGH, PARTS, UNSTEADY};

/// The number of bytes compared at a time, a multiple of every element size.
const PIECE: usize = 1 << 20;

/// Elements of outputs, in order.
pub struct Piece {
    /// The index of the first element among all outputs.
    pub first: usize,
    /// The size of each element in bytes.
    pub size: usize,
    /// The range of the elements in the memory of the outputs.
    pub range: Range<usize>,
}

/// The elements of a placement, piece by piece.
pub fn pieces(placement: &Placement) -> impl Iterator<Item = Piece> {
    let mut first = 0;
    placement.outputs.iter().flat_map(move |placed| {
        let (start, size) = (first, placed.spec.dtype.size() as usize);
        let end = placed.range().end;
        first += placed.bytes / size;
        (placed.offset..end).step_by(PIECE).map(move |at| {
            let range = at..end.min(at + PIECE);
            Piece { first: start + (at - placed.offset) / size, size, range }
        })
    })
}

/// The results of launches at the timed addresses ("here") and at others ("elsewhere"), on altered and on captured
/// contents. Elements are compared by their bytes, so that NaN equals itself.
///
/// An element that differs between the launches on captured contents is unsteady, and neither stale nor following.
#[derive(Default)]
pub struct Evidence {
    /// One bit per element: whether altered arguments gave different values here and elsewhere; then, for these
    /// elements, whether the value equals that of the captured arguments.
    stale: Vec<u64>,
    /// One bit per element: whether the element follows the arguments, here or elsewhere.
    following: Vec<u64>,
    /// Elements that differ although no input does.
    unsteady: u64,
}

/// How much of its results a kernel had kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Elements equal to the results of the captured arguments.
    pub stale: u64,
    /// Elements that follow the arguments, including the stale ones.
    pub following: u64,
}

impl Evidence {
    /// Adds the results of altered arguments here and elsewhere.
    pub fn altered(&mut self, piece: &Piece, here: &[u8], elsewhere: &[u8]) {
        if here == elsewhere {
            return;
        }
        reach(&mut self.stale, piece, here);
        compared(piece, here, elsewhere, |element, same| {
            self.stale[element / 64] |= u64::from(!same) << (element % 64);
        });
    }

    /// Whether they are equal, as for every honest and deterministic kernel.
    pub fn is_none(&self) -> bool {
        self.stale.is_empty()
    }

    /// Adds the results of altered arguments here, and of captured ones elsewhere.
    pub fn captured(&mut self, piece: &Piece, altered: &[u8], captured: &[u8]) {
        reach(&mut self.following, piece, altered);
        compared(piece, altered, captured, |element, same| {
            let (word, bit) = (element / 64, 1 << (element % 64));
            let differs = self.stale.get_mut(word).filter(|stale| **stale & bit != 0);
            if differs.is_some() || !same {
                self.following[word] |= bit;
            }
            if let Some(stale) = differs.filter(|_| !same) {
                *stale &= !bit;
            }
        });
    }

    /// Adds the results of captured arguments here and elsewhere.
    pub fn again(&mut self, piece: &Piece, here: &[u8], elsewhere: &[u8]) {
        if here == elsewhere {
            return;
        }
        compared(piece, here, elsewhere, |element, same| {
            if !same {
                self.unsteady += 1;
                for bits in [&mut self.stale, &mut self.following] {
                    bits.get_mut(element / 64).into_iter().for_each(|word| *word &= !(1 << (element % 64)));
                }
            }
        });
    }

    /// The kept part of the outputs, if it suffices to accuse a kernel: all elements that follow the arguments, or a
    /// large part of them.
    ///
    /// A smaller part is not evidence. If the kernel's own noise shows only on altered contents, for example when equal
    /// values are drawn and ties are broken by chance, then a coarse output (a truth value, the number of an expert)
    /// equals the result of the captured contents by chance. Launches that were not kept in memory cannot distinguish
    /// that from a kept part: the share can.
    pub fn kept(&self) -> Option<Kept> {
        let count = |bits: &[u64]| bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let (stale, following, unsteady) = (count(&self.stale), count(&self.following), self.unsteady);
        let all = stale == following && unsteady == 0;
        let part = stale >= ENOUGH && PARTS * stale >= following && stale > UNSTEADY * unsteady;
        (stale > 0 && (all || part)).then_some(Kept { stale, following })
    }
}

/// Makes room for the bits of a piece of `bytes`.
fn reach(bits: &mut Vec<u64>, piece: &Piece, bytes: &[u8]) {
    let words = (piece.first + bytes.len() / piece.size).div_ceil(64);
    bits.resize(bits.len().max(words), 0);
}

/// Hands each element of a piece to `visit`, with whether it is equal in both.
fn compared(piece: &Piece, one: &[u8], other: &[u8], visit: impl FnMut(usize, bool)) {
    match piece.size {
        1 => of_size::<1>(piece.first, one, other, visit),
        2 => of_size::<2>(piece.first, one, other, visit),
        4 => of_size::<4>(piece.first, one, other, visit),
        8 => of_size::<8>(piece.first, one, other, visit),
        _ => of_size::<16>(piece.first, one, other, visit),
    }
}

fn of_size<const N: usize>(first: usize, one: &[u8], other: &[u8], mut visit: impl FnMut(usize, bool)) {
    let pairs = one.as_chunks::<N>().0.iter().zip(other.as_chunks::<N>().0);
    for (element, (one, other)) in (first..).zip(pairs) {
        visit(element, one == other);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::capture::{Dtype, TensorSpec};

    use super::*;

    /// Whether launches with these outputs are those of a kernel that keeps results: on altered contents here and
    /// elsewhere, then on captured contents here and elsewhere.
    fn kept(altered: [&[u8]; 2], captured: [&[u8]; 2]) -> bool {
        let bytes = altered[0].len();
        let shape = vec![bytes as u64 / 4];
        let specs = [TensorSpec { dtype: Dtype::F16, shape: shape.clone() }, TensorSpec { dtype: Dtype::F16, shape }];
        let placement = Placement::of(&specs, &[]).unwrap();
        // The second output begins at its alignment, after a gap.
        let place = |given: &[u8]| {
            let mut memory = vec![0; placement.bytes];
            for (placed, half) in placement.outputs.iter().zip(given.chunks_exact(bytes / 2)) {
                memory[placed.range()].copy_from_slice(half);
            }
            memory
        };
        let (altered, captured) = (altered.map(place), captured.map(place));
        let mut evidence = Evidence::default();
        let of = |memory: &'_ [Vec<u8>; 2], i: usize, piece: &Piece| memory[i][piece.range.clone()].to_vec();
        for piece in pieces(&placement) {
            evidence.altered(&piece, &of(&altered, 0, &piece), &of(&altered, 1, &piece));
        }
        for piece in pieces(&placement) {
            evidence.captured(&piece, &of(&altered, 0, &piece), &of(&captured, 1, &piece));
            evidence.again(&piece, &of(&captured, 0, &piece), &of(&captured, 1, &piece));
        }
        assert_eq!(evidence.is_none(), altered[0] == altered[1]);
        evidence.kept().is_some()
    }

    #[test]
    fn what_should_have_changed_and_did_not_is_kept() {
        for bytes in [4, 100, 3 << 20] {
            let (one, two) = (&vec![1; bytes][..], &vec![2; bytes][..]);
            assert!(kept([one, two], [one, one]), "{bytes}");
            assert!(!kept([two, two], [one, one]), "{bytes}");
            assert!(!kept([one, one], [one, one]), "what does not follow the arguments is not kept");
        }
        let (one, two) = (&[1; 4000][..], &[2; 4000][..]);
        let half = [&one[..2000], &two[2000..]].concat();
        assert!(kept([&half, two], [one, one]));
        let little = [&one[..100], &two[100..]].concat();
        assert!(!kept([&little, two], [one, one]), "50 of 2000 may be the same by chance");
        let last = [&two[..3996], &one[3996..]].concat();
        assert!(kept([one, &last], [one, one]), "two elements that alone follow the arguments");
    }

    #[test]
    fn what_differs_by_itself_is_no_evidence() {
        let (one, two) = (&[1; 4000][..], &[2; 4000][..]);
        let noisy = |bytes: usize| [&[3; 4000][..bytes], &one[bytes..]].concat();
        assert!(kept([one, two], [&noisy(40), one]), "20 elements that differ by themselves do not hide 1980");
        assert!(!kept([one, two], [&noisy(800), one]));
        // The arguments do not matter to the kernel: random differences look as if they did.
        assert!(!kept([one, &noisy(800)], [&noisy(400), one]));
        assert!(!kept([&[1; 8], &[4, 4, 1, 1, 1, 1, 1, 1]], [&[1, 1, 4, 4, 1, 1, 1, 1], &[1; 8]]));
        // The kernel returns other bits at other addresses.
        assert!(!kept([two, one], [two, one]));
    }
}
