//! A series without its spikes.

use crate::median::{median, median_absolute_deviation};

/// The number of points before and after that a point is compared with.
const REACH: usize = 3;

/// A point farther from the median of its neighbours than this many of their standard deviations is a spike.
const FAR: f64 = 3.0;

/// `series` with every spike replaced by the median of the points around it, by Hampel's filter (1974): seven points,
/// three deviations. Levels keep their edges, and up to two adjacent spikes are removed; three points of a new level at
/// the end of a series stay.
pub(super) fn despiked(series: &[f64]) -> Vec<f64> {
    let around = |at: usize| &series[at.saturating_sub(REACH)..(at + REACH + 1).min(series.len())];
    let point = |(at, value): (usize, &f64)| {
        let around = around(at);
        let (Some(middle), Some(deviation)) = (median(around.to_vec()), median_absolute_deviation(around)) else {
            return *value;
        };
        if (value - middle).abs() > FAR * crate::MAD_TO_DEVIATION * deviation { middle } else { *value }
    };
    series.iter().enumerate().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_go_and_edges_stay() {
        let mut series: Vec<f64> = (0..20).map(|at| f64::from(at * 7 % 5) + if at < 10 { 0.0 } else { 50.0 }).collect();
        assert_eq!(despiked(&series), series);
        let clean = series.clone();
        (series[4], series[15], series[16]) = (900.0, -80.0, 700.0);
        let found = despiked(&series);
        assert!(found.iter().zip(&clean).all(|(found, clean)| (found - clean).abs() <= 4.0), "{found:?}");
    }

    #[test]
    fn three_points_of_a_new_level_at_the_end_are_no_spike() {
        let series = [vec![1.0, 1.1, 0.9, 1.05, 1.0, 0.95, 1.02, 1.07], vec![2.0; 3]].concat();
        assert_eq!(despiked(&series), series);
        assert_eq!(despiked(&[]), [0.0; 0]);
    }
}
