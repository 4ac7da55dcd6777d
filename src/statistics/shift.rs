//! [`Shift`]: by how much one sample is above another.

/// A range that holds the true shift with a stated confidence. Both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in the unit of the figures.
    pub low: f64,
    /// The upper end, in the unit of the figures.
    pub high: f64,
    /// How often such an interval holds the true shift, at least: 0.99 for 99 in 100.
    pub confidence: f64,
}

/// By how much the current figures are above those of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The best guess, in the unit of the figures: positive if they grew.
    pub estimate: f64,
    /// The interval; `None` if there are too few figures for one, or if the confidence is not between 0 and 1.
    pub interval: Option<Interval>,
    /// Whether the interval follows from the exact distribution of the test, and not from its normal approximation.
    pub exact: bool,
    /// How many independent figures the baseline is worth. The number of pairs, if the two were compared pair by pair.
    pub baseline_size: f64,
    /// How many independent figures the current ones are worth.
    pub current_size: f64,
}

/// The probability left out on each side of an interval; `None` if `confidence` is not between 0 and 1.
pub(crate) fn tail(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some((1.0 - confidence) / 2.0)
}
