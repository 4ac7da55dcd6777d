//! [`Shift`]: how far one sample is above another.

/// A range that contains the true shift with a stated confidence, including both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in the unit of the figures.
    pub low: f64,
    /// The upper end, in the unit of the figures.
    pub high: f64,
    /// The confidence level: at least this share of such intervals contains the true shift (0.99 for 99 in 100).
    pub confidence: f64,
}

/// How far the current figures are above those of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The estimate, in the unit of the figures: positive if they grew.
    pub estimate: f64,
    /// The interval; `None` if there are too few figures for one, or if the confidence is not between 0 and 1.
    pub interval: Option<Interval>,
    /// Whether the interval comes from the exact distribution of the test rather than its normal approximation.
    pub exact: bool,
    /// The number of independent figures that the baseline is worth, or the number of pairs in a paired comparison.
    pub baseline_size: f64,
    /// The number of independent figures that the current ones are worth.
    pub current_size: f64,
}

/// The probability left out on each side of an interval; `None` if `confidence` is not between 0 and 1.
pub(crate) fn tail(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some((1.0 - confidence) / 2.0)
}
