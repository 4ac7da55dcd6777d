//! What the elements of an argument may change to, by what they are: numbers, names of places, offsets, masks.

use std::collections::HashSet;

use plimsoll_capture::{Dtype, DtypeKind};

use super::floats::Format;

/// A storage of at most this many bytes changes as a whole.
pub(super) const WHOLE: u64 = 64 << 10;
/// How many elements of a large storage show what it holds.
const SAMPLE: usize = 4096;
/// Floating-point numbers that are never more different than this name something.
const FEW_VALUES: usize = 16;

/// What elements change to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// They stay, and are put there anew because the kernel changes them.
    Nothing,
    /// They change places: everywhere, among rows of that many elements, or within these.
    Places(Order),
    /// They become other numbers, none smaller than the last.
    Numbers(Format, u64),
}

/// Which elements may change places with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Any,
    Rows(usize),
    WithinRows(usize),
    /// They are drawn from all of them, each as often as it comes: an output may not depend on their order.
    Drawn,
    /// They are drawn from about half of the different ones: an output may stay as long as one of these is there, as the
    /// largest does.
    DrawnFromHalf,
}

/// How far values may be from the captured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// They are the captured ones.
    Nothing,
    /// Floating-point numbers stay almost the same.
    Nudged,
    /// Floating-point numbers alone change.
    Floats,
    /// All but offsets, limits, truth values and masks.
    All,
    /// Truth values and masks, too: no output follows anything else.
    Masks,
    /// Everything that is not declared constant: nothing else in the call can change.
    Everything,
}

/// What the elements change to; `None` to keep them.
pub(super) fn change_of(elements: &[u8], dtype: Dtype, whole: bool, last: usize, reach: Reach) -> Option<Change> {
    let size = dtype.size() as usize;
    let places = || {
        let places =
            || Change::Places(if elements.len() as u64 <= WHOLE { order(elements, size, last) } else { Order::Any });
        // Those of a large storage stay as long as others can change: within a cell, there may be few different ones.
        let least = if whole { Reach::All } else { Reach::Masks };
        (reach >= least).then(places)
    };
    let bold = reach >= Reach::Masks;
    // Elements that are all equal are the same in any order.
    let places = || places().filter(|_| !elements.chunks_exact(size).all(|element| element == &elements[..size]));
    if reach == Reach::Nothing || reach < Reach::Everything && is_sorted(elements, dtype, last) {
        return None;
    }
    match dtype.kind() {
        DtypeKind::Signed | DtypeKind::Unsigned => return places(),
        DtypeKind::Bool => return bold.then(places).flatten(),
        DtypeKind::Opaque => return None,
        DtypeKind::Float | DtypeKind::Complex => {}
    }
    let Some(format) = Format::of(dtype) else { return places() };
    let step = if whole { 1 } else { (elements.len() / format.bytes).div_ceil(SAMPLE).max(1) };
    let sample: Vec<u64> = elements.chunks_exact(format.bytes).step_by(step).map(|bytes| format.bits(bytes)).collect();
    let mut different = HashSet::new();
    for bits in &sample {
        if different.len() <= FEW_VALUES {
            different.insert(*bits);
        }
    }
    let few = different.len() <= FEW_VALUES;
    let several = sample.len() > 2 * different.len();
    // A mask, or truth values.
    if few && several && different.len() == 2 {
        return bold.then(places).flatten();
    }
    let named = (few && several && different.len() > 2) || sample.iter().all(|&bits| format.is_whole(bits));
    // Infinities and huge numbers keep their places, zeros do not.
    let masks = sample.iter().any(|&bits| format.stays(bits) && format.size_of(bits) > 0);
    if named && !masks && different.len() > 1 {
        return places();
    }
    let sizes = sample.iter().filter(|&&bits| !format.stays(bits)).map(|&bits| format.size_of(bits));
    (sizes.clone().count() > 0).then(|| Change::Numbers(format, format.lowest(sizes)))
}

/// The order in which elements may change places, so that no element is twice in a row or a column that had none twice.
fn order(elements: &[u8], size: usize, last: usize) -> Order {
    let count = elements.len() / size;
    if last < 2 || last >= count || !count.is_multiple_of(last) || is_apart(elements, size, count) {
        return Order::Any;
    }
    if is_apart(elements, size, last) {
        return Order::WithinRows(last);
    }
    let rows = count / last;
    let columns = (0..count).map(|at| (at % rows * last + at / rows) * size);
    let columns: Vec<u8> = columns.flat_map(|at| &elements[at..at + size]).copied().collect();
    if is_apart(&columns, size, rows) { Order::Rows(last) } else { Order::Any }
}

/// Whether in no part of this many numbers one is twice.
pub(super) fn is_apart(bytes: &[u8], size: usize, part: usize) -> bool {
    part > 1
        && bytes.chunks(part * size).all(|part| {
            let mut seen = HashSet::new();
            part.chunks_exact(size).all(|number| seen.insert(number))
        })
}

/// An integer of 4 or 8 bytes.
pub(super) fn integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => bytes.try_into().map_or(-1, i64::from_le_bytes),
    }
}

/// Whether elements are sorted, as offsets and limits are, all or each row of them: three or more, and not all equal.
pub(super) fn is_sorted(bytes: &[u8], dtype: Dtype, last: usize) -> bool {
    let size = dtype.size() as usize;
    let value = |bytes: &[u8]| match dtype {
        Dtype::I32 | Dtype::I64 => integer(bytes) as f64,
        Dtype::F32 => bytes.try_into().map_or(f64::NAN, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Dtype::F64 => bytes.try_into().map_or(f64::NAN, f64::from_le_bytes),
        _ => f64::NAN,
    };
    let rises = |part: &[u8]| {
        let mut before = None;
        let mut rises = 0;
        for now in part.chunks_exact(size).map(value) {
            match before {
                Some(before) if now < before => return false,
                Some(before) => rises += usize::from(now > before),
                None => {}
            }
            if now.is_nan() {
                return false;
            }
            before = Some(now);
        }
        rises > 1
    };
    rises(bytes) || (last > 2 && bytes.chunks(last * size).all(rises))
}
