//! Candidates for level changes of a series, rather too many than too few.

/// A quadratic in the level of the last part, valid for levels from `low` to `high`: the least cost of the series so
/// far if its last part begins at `start` and has that level.
#[derive(Clone, Copy)]
struct Piece {
    low: f64,
    high: f64,
    square: f64,
    slope: f64,
    constant: f64,
    start: usize,
}

impl Piece {
    /// The lowest cost of the piece.
    fn least(&self) -> f64 {
        let level = (-self.slope / (2.0 * self.square)).clamp(self.low, self.high);
        (self.square * level + self.slope) * level + self.constant
    }

    /// The levels at which the piece costs less than `cost`.
    fn below(&self, cost: f64) -> Option<(f64, f64)> {
        let root = self.slope * self.slope - 4.0 * self.square * (self.constant - cost);
        let level = |root: f64| ((root - self.slope) / (2.0 * self.square)).clamp(self.low, self.high);
        (root > 0.0).then(|| (level(-root.sqrt()), level(root.sqrt())))
    }
}

/// The first points of the parts of `series`, except the first part, in the cheapest partition. The cost is the squared
/// distance from the mean of each part, plus `penalty` for each change.
///
/// Finds the optimum over any number of changes by functional pruning (FPOP, Maidstone and others 2017). It keeps, for
/// each level of the last part, the start that suits it best. These are few pieces for any length, so the time is
/// nearly linear. `series` must be finite and within -1 and 1.
pub(super) fn candidates(series: &[f64], penalty: f64) -> Vec<usize> {
    let low = series.iter().copied().fold(f64::INFINITY, f64::min);
    let high = series.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return Vec::new();
    }
    let mut pieces = vec![Piece { low, high, square: 0.0, slope: 0.0, constant: 0.0, start: 0 }];
    let mut next = Vec::new();
    let mut starts = Vec::with_capacity(series.len());
    for (at, value) in series.iter().enumerate() {
        let mut best = (f64::INFINITY, 0);
        for piece in &mut pieces {
            piece.square += 1.0;
            piece.slope -= 2.0 * value;
            piece.constant += value * value;
            let least = piece.least();
            if least < best.0 {
                best = (least, piece.start);
            }
        }
        starts.push(best.1);
        next.clear();
        let fresh = Piece { square: 0.0, slope: 0.0, constant: best.0 + penalty, start: at + 1, ..pieces[0] };
        for piece in &pieces {
            let (from, to) = piece.below(fresh.constant).unwrap_or((piece.high, piece.high));
            put(&mut next, Piece { low: piece.low, high: from, ..fresh });
            put(&mut next, Piece { low: from, high: to, ..*piece });
            put(&mut next, Piece { low: to, high: piece.high, ..fresh });
        }
        std::mem::swap(&mut pieces, &mut next);
    }
    let start = |end: &usize| Some(starts[end - 1]).filter(|start| *start > 0);
    let mut places: Vec<usize> = std::iter::successors(start(&series.len()), start).collect();
    places.reverse();
    places
}

/// Adds a piece, merged with the last one if both have the same start; a piece without width is dropped.
fn put(pieces: &mut Vec<Piece>, piece: Piece) {
    if piece.high <= piece.low {
        return;
    }
    match pieces.last_mut() {
        Some(last) if last.start == piece.start => last.high = piece.high,
        _ => pieces.push(piece),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The cost of parts that begin at `places`.
    fn cost(series: &[f64], places: &[usize], penalty: f64) -> f64 {
        let ends = [&[0], places, &[series.len()]].concat();
        let part = |ends: &[usize]| {
            let part = &series[ends[0]..ends[1]];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        ends.windows(2).map(part).sum::<f64>() + penalty * places.len() as f64
    }

    /// The least cost, computed from that of every shorter series.
    fn least(series: &[f64], penalty: f64) -> f64 {
        let mut least = vec![-penalty];
        for end in 1..=series.len() {
            let of = |start: usize| least[start] + penalty + cost(&series[start..end], &[], penalty);
            least.push((0..end).map(of).fold(f64::INFINITY, f64::min));
        }
        least[series.len()]
    }

    proptest! {
        #[test]
        fn no_other_parts_cost_less(
            series in prop::collection::vec(-1.0f64..1.0, 1..40), penalty in 0.001f64..3.0, grid in prop::bool::ANY,
        ) {
            let series: Vec<f64> = series.iter().map(|x| if grid { (x * 4.0).round() / 4.0 } else { *x }).collect();
            let found = candidates(&series, penalty);
            prop_assert!(found.is_sorted_by(|a, b| a < b) && found.iter().all(|at| (1..series.len()).contains(at)));
            prop_assert!(cost(&series, &found, penalty) <= least(&series, penalty) + 1e-9);
        }
    }

    #[test]
    fn what_does_not_move_has_none() {
        assert_eq!((candidates(&[0.5; 9], 0.1), candidates(&[], 0.1)), (vec![], vec![]));
    }
}
