//! [`Statistics`]: medians, slopes and tests that an outlier does not move.

use plimsoll_statistics::trend::{mann_kendall, theil_sen};
use plimsoll_statistics::{median, median_absolute_deviation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

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

/// The statistics of `points`, each a step and a figure, in order; `None` if there is none.
pub(super) fn statistics(points: &[(f64, f64)]) -> Option<Statistics> {
    let (first, last) = (points.first()?, points.last()?);
    let figures: Vec<f64> = points.iter().map(|point| point.1).collect();
    let mad = median_absolute_deviation(&figures)?;
    let rise = mann_kendall(&figures);
    Some(Statistics {
        readings: points.len() as u64,
        first: size(first.1),
        last: size(last.1),
        median: size(median(figures)?),
        mad: size(mad),
        slope: theil_sen(points),
        kendall: rise.s,
        p: rise.p,
    })
}

fn size(bytes: f64) -> ByteSize {
    ByteSize::new(bytes.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither_the_median_nor_the_slope() {
        let mut points: Vec<_> = (0..21).map(|step| (f64::from(step), 100.0 + 3.0 * f64::from(step))).collect();
        points[7].1 = 1e9;
        let found = statistics(&points).unwrap();
        assert_eq!((found.median.bytes(), found.mad.bytes(), found.last.bytes()), (133, 18, 160));
        assert!((found.slope - 3.0).abs() < 1e-9 && found.p < 0.05 && found.kendall > 0, "{found:?}");
        assert_eq!(statistics(&[]), None);
    }
}
