//! The rows that a long table shows.

/// The most entries that have a row: the worst ones.
pub(super) const ROWS: usize = 500;

/// The places, in order, of the [`ROWS`] worst of all that `keys` gives: those of `false` first, and then those of the largest
/// number. No more than twice as many are in memory.
pub(super) fn worst(keys: impl Iterator<Item = (bool, f64)>) -> Vec<usize> {
    let mut worst: Vec<(bool, f64, usize)> = Vec::new();
    let cut = |worst: &mut Vec<(bool, f64, usize)>| {
        worst.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        worst.truncate(ROWS);
    };
    for (place, (good, size)) in keys.enumerate() {
        worst.push((good, size, place));
        if worst.len() == 2 * ROWS {
            cut(&mut worst);
        }
    }
    cut(&mut worst);
    let mut places: Vec<usize> = worst.into_iter().map(|(_, _, place)| place).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_many_are_shown_in_their_order() {
        let few = [(true, 3.0), (false, 1.0), (true, 5.0)];
        assert_eq!(worst(few.into_iter()), [0, 1, 2]);
        let many = (0..5000).map(|place| (place != 7 && place != 4999, f64::from(place)));
        let shown = worst(many);
        assert_eq!((shown.len(), shown[0], shown[1], shown[ROWS - 1]), (ROWS, 7, 4501, 4999));
    }
}
