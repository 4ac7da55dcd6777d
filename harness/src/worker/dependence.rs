//! [`Dependence`]: which elements of outputs follow the arguments of a kernel, and which of them did not when they should have.

use std::ops::Range;

use plimsoll::run::Placement;

use super::error::CallError;

/// The bytes that are compared at a time, a multiple of every element's.
const PIECE: usize = 1 << 20;
/// As many elements are enough to tell a part that is kept from one that came out the same by chance.
const ENOUGH: u64 = 64;
/// An element that is not the same in two launches on the same contents speaks for so many that could differ for no other
/// reason.
const UNSTEADY: u64 = 8;

/// Elements of outputs, in order.
pub struct Piece {
    /// The number of the first, of all outputs.
    pub first: usize,
    /// The bytes of each.
    pub size: usize,
    /// Where they lie in the memory of the outputs.
    pub range: Range<usize>,
}

/// The elements of a placement, piece by piece.
pub fn pieces(placement: &Placement) -> impl Iterator<Item = Piece> {
    let mut first = 0;
    placement.outputs.iter().flat_map(move |placed| {
        let (start, size) = (first, placed.spec.dtype.size() as usize);
        let end = placed.offset + placed.bytes;
        first += placed.bytes / size;
        (placed.offset..end).step_by(PIECE).map(move |at| {
            let range = at..end.min(at + PIECE);
            Piece { first: start + (at - placed.offset) / size, size, range }
        })
    })
}

/// What is known of the elements of outputs. Each is compared as its bytes are, so that NaN is what it was.
#[derive(Default)]
pub struct Dependence {
    /// A bit for each element: whether it is another where the arguments hold other contents.
    follows: Vec<u64>,
    /// Elements that differ where the arguments hold the same.
    unsteady: u64,
    following: u64,
    stale: u64,
}

impl Dependence {
    /// Notes which elements of a piece other contents have changed.
    pub fn altered(&mut self, piece: &Piece, before: &[u8], altered: &[u8]) {
        let words = (piece.first + before.len() / piece.size).div_ceil(64);
        self.follows.resize(words.max(self.follows.len()), 0);
        for_each_other(piece, before, altered, &mut |element| self.follows[element / 64] |= 1 << (element % 64));
    }

    /// Whether no element was changed.
    pub fn is_none(&self) -> bool {
        self.follows.iter().all(|&word| word == 0)
    }

    /// Leaves out the elements that differ with the same contents, too.
    pub fn elsewhere(&mut self, piece: &Piece, before: &[u8], elsewhere: &[u8]) {
        for_each_other(piece, before, elsewhere, &mut |element| {
            self.follows[element / 64] &= !(1 << (element % 64));
            self.unsteady += 1;
        });
    }

    /// Counts the elements that other contents were to change, and did not.
    pub fn now(&mut self, piece: &Piece, before: &[u8], now: &[u8]) {
        let pairs = before.chunks_exact(piece.size).zip(now.chunks_exact(piece.size));
        for (element, (before, now)) in (piece.first..).zip(pairs) {
            if self.follows[element / 64] >> (element % 64) & 1 == 1 {
                self.following += 1;
                self.stale += u64::from(before == now);
            }
        }
    }

    /// The error of a kernel that gave what it had kept.
    pub fn kept(&self) -> Option<CallError> {
        let Self { unsteady, following, stale, .. } = *self;
        let all = stale == following && unsteady == 0;
        let part = stale >= ENOUGH && stale >= following / 8 && stale > UNSTEADY * unsteady;
        (stale > 0 && (all || part)).then_some(CallError::Kept { stale, following })
    }
}

fn for_each_other(piece: &Piece, one: &[u8], other: &[u8], visit: &mut dyn FnMut(usize)) {
    if one == other {
        return;
    }
    let pairs = one.chunks_exact(piece.size).zip(other.chunks_exact(piece.size));
    for (element, _) in (piece.first..).zip(pairs).filter(|(_, (one, other))| one != other) {
        visit(element);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::capture::{Dtype, TensorSpec};

    use super::*;

    /// Whether a kernel is found to give what it kept: `now` of the outputs that `altered` was expected of, and were `before`.
    fn kept(before: &[u8], altered: &[u8], elsewhere: &[u8], now: &[u8]) -> bool {
        let shape = vec![before.len() as u64 / 4];
        let specs = [TensorSpec { dtype: Dtype::F16, shape: shape.clone() }, TensorSpec { dtype: Dtype::F16, shape }];
        let placement = Placement::of(&specs, &[]).unwrap();
        // The second output begins where an alignment asks for, which is behind a gap.
        let place = |bytes: &[u8]| {
            let mut memory = vec![0; placement.bytes];
            for (placed, half) in placement.outputs.iter().zip(bytes.chunks_exact(before.len() / 2)) {
                memory[placed.offset..placed.offset + placed.bytes].copy_from_slice(half);
            }
            memory
        };
        let [before, altered, elsewhere, now] = [before, altered, elsewhere, now].map(place);
        let mut dependence = Dependence::default();
        for piece in pieces(&placement) {
            dependence.altered(&piece, &before[piece.range.clone()], &altered[piece.range.clone()]);
        }
        for piece in pieces(&placement) {
            dependence.elsewhere(&piece, &before[piece.range.clone()], &elsewhere[piece.range.clone()]);
            dependence.now(&piece, &before[piece.range.clone()], &now[piece.range.clone()]);
        }
        dependence.kept().is_some()
    }

    #[test]
    fn what_should_have_changed_and_did_not_is_kept() {
        for bytes in [4, 100, 3 << 20] {
            let (one, two) = (vec![1; bytes], vec![2; bytes]);
            assert!(kept(&one, &two, &one, &one), "{bytes}");
            assert!(!kept(&one, &two, &one, &two), "{bytes}");
            assert!(!kept(&one, &one, &one, &one), "what does not follow the arguments is not kept");
        }
        let (one, two) = (vec![1; 4000], vec![2; 4000]);
        let mut half = one.clone();
        half[2000..].fill(2);
        assert!(kept(&one, &two, &one, &half));
        let mut little = two.clone();
        little[..100].fill(1);
        assert!(!kept(&one, &two, &one, &little), "50 of 2000 may be the same by chance");
    }

    #[test]
    fn what_differs_by_itself_is_no_evidence() {
        let (one, two) = (vec![1; 4000], vec![2; 4000]);
        let mut noisy = one.clone();
        noisy[..40].fill(3);
        assert!(kept(&one, &two, &noisy, &one), "20 elements that differ by themselves do not hide 1980");
        noisy[..800].fill(3);
        assert!(!kept(&one, &two, &noisy, &one));
        // The arguments do not matter to it: only what differs by itself looks as if they did.
        let mut other = one.clone();
        other[800..1600].fill(4);
        assert!(!kept(&one, &other, &noisy, &one));
        assert!(!kept(&one[..8], &[4, 4, 1, 1, 1, 1, 1, 1], &[1, 1, 4, 4, 1, 1, 1, 1], &one[..8]));
    }
}
