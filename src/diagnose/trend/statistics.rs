//! [`Statistics`]: medians, slopes and tests that an outlier does not move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;
use plimsoll_statistics::median::median;

/// A series in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// The readings.
    pub readings: u64,
    /// The first.
    pub first: ByteSize,
    /// The last.
    pub last: ByteSize,
    /// The median.
    pub median: ByteSize,
    /// The median absolute deviation from it.
    pub mad: ByteSize,
    /// Bytes a step: the median of the slopes of all pairs (Theil and Sen).
    pub slope: f64,
    /// How many pairs rise less how many fall (Mann and Kendall).
    pub kendall: i64,
    /// How likely so many pairs would rise by chance.
    pub p: f64,
}

/// The statistics of `points`, each a step and a figure, in order; `None` where there is none.
pub(super) fn statistics(points: &[(f64, f64)]) -> Option<Statistics> {
    let (first, last) = (points.first()?, points.last()?);
    let figures: Vec<f64> = points.iter().map(|point| point.1).collect();
    let middle = median(figures.clone())?;
    let mad = median(figures.iter().map(|figure| (figure - middle).abs()).collect())?;
    let (kendall, p) = mann_kendall(&figures);
    Some(Statistics {
        readings: points.len() as u64,
        first: size(first.1),
        last: size(last.1),
        median: size(middle),
        mad: size(mad),
        slope: theil_sen(points),
        kendall,
        p,
    })
}

fn size(bytes: f64) -> ByteSize {
    ByteSize::new(bytes.round() as u64)
}

/// The median of the slopes of all pairs of different steps; 0 where there is none.
pub(super) fn theil_sen(points: &[(f64, f64)]) -> f64 {
    let pairs = points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
    let slopes = pairs.filter(|(a, b)| b.0 > a.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0));
    median(slopes.collect()).unwrap_or(0.0)
}

/// Mann and Kendall's S and the one-sided p of a rise, by the normal approximation with ties and continuity.
fn mann_kendall(figures: &[f64]) -> (i64, f64) {
    let sign = |a: f64, b: f64| i64::from(b > a) - i64::from(b < a);
    let s: i64 =
        figures.iter().enumerate().flat_map(|(at, &a)| figures[at + 1..].iter().map(move |&b| sign(a, b))).sum();
    let n = figures.len() as f64;
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tie| term(tie.len() as f64)).sum();
    let variance = (term(n) - ties) / 18.0;
    if variance <= 0.0 {
        return (s, 1.0);
    }
    let z = (s - s.signum()) as f64 / variance.sqrt();
    (s, upper_tail(z))
}

/// The probability that a standard normal exceeds `z`: Abramowitz and Stegun 26.2.17, good to 1e-7.
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let polynomial = series.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z >= 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_normal_tail_is_that_of_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.158_655), (1.644_854, 0.05), (-1.644_854, 0.95), (3.0, 0.001_350)] {
            assert!((upper_tail(z) - p).abs() < 1e-6, "{z}");
        }
    }

    /// Kendall's S of the textbook's example, and its variance without ties.
    #[test]
    fn four_rises_are_significant_and_noise_is_not() {
        assert!(mann_kendall(&[1.0, 2.0, 3.0, 4.0]).1 < 0.05);
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0, 4.0]).0, 6);
        assert!(mann_kendall(&[3.0, 1.0, 4.0, 1.0, 5.0]).1 > 0.05);
        assert_eq!(mann_kendall(&[2.0; 9]), (0, 1.0));
    }

    #[test]
    fn an_outlier_does_not_move_the_slope() {
        let mut points: Vec<_> = (0..21).map(|step| (f64::from(step), 100.0 + 3.0 * f64::from(step))).collect();
        points[7].1 = 1e9;
        assert!((theil_sen(&points) - 3.0).abs() < 1e-9);
        assert_eq!(statistics(&points).unwrap().median.bytes(), 133);
    }

    proptest! {
        #[test]
        fn the_slope_of_a_line_is_found(from in 0.0f64..1e9, slope in -1e3f64..1e3, n in 2usize..60) {
            let points: Vec<_> = (0..n).map(|step| (step as f64, from + slope * step as f64)).collect();
            prop_assert!((theil_sen(&points) - slope).abs() < 1e-3);
        }

        #[test]
        fn kendall_changes_its_sign_with_the_order(figures in prop::collection::vec(0u8..20, 1..30)) {
            let figures: Vec<f64> = figures.into_iter().map(f64::from).collect();
            let back: Vec<f64> = figures.iter().rev().copied().collect();
            prop_assert_eq!(mann_kendall(&figures).0, -mann_kendall(&back).0);
            prop_assert!((0.0..=1.0).contains(&mann_kendall(&figures).1));
        }
    }
}
