//! [`Statistics`]: medians, slopes and tests that are robust against outliers.

use plimsoll_statistics::trend::{mann_kendall, theil_sen};
use plimsoll_statistics::{median, median_absolute_deviation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// Statistics of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Number of readings.
    pub readings: u64,
    /// The first reading.
    pub first: ByteSize,
    /// The last reading.
    pub last: ByteSize,
    /// The median of the readings.
    pub median: ByteSize,
    /// The median absolute deviation from the median.
    pub mad: ByteSize,
    /// Bytes per step: the median of the slopes of all pairs (Theil and Sen).
    pub slope: f64,
    /// The number of rising pairs minus the number of falling pairs (Mann and Kendall).
    pub kendall: i64,
    /// The probability that as many pairs rise by chance.
    pub p: f64,
}

/// The statistics of `points`, pairs of step and figure in order; `None` if there are no points.
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
