//! Figures as other formats take them: [`Summary`] reduces repeats to one value with its spread. Also the words for
//! names, units and sources.

use plimsoll_statistics::median;

use super::terminal::{counted, duration, interval};
use crate::record::{Figure, Unit};
use plimsoll_capture::timing::Statistics;
use plimsoll_memory::meter::Source;

/// One value with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The median.
    pub(crate) value: f64,
    /// The minimum and maximum; absent if there is only one value.
    pub(crate) range: Option<(f64, f64)>,
}

impl Summary {
    /// The summary of `figure`; `None` without values.
    pub(crate) fn of(figure: &Figure) -> Option<Self> {
        let values: Vec<f64> = figure.values.iter().copied().filter(|value| value.is_finite()).collect();
        let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &v| (l.min(v), m.max(v)));
        let range = (values.len() > 1).then_some((least, most));
        Some(Self { value: median(values)?, range })
    }
}

/// The name of a figure without its phase.
pub(crate) fn bare(figure: &Figure) -> &str {
    let of_phase = figure.phase.as_deref().and_then(|phase| figure.name.strip_prefix(phase)?.strip_prefix('.'));
    of_phase.unwrap_or(&figure.name)
}

/// The unit as a word.
pub(crate) const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "ns",
        Unit::Count => "count",
    }
}

/// The total time over all entries, in words.
pub(crate) fn times_words(all: &Statistics) -> String {
    let std = all.std_ns.map_or(String::new(), |std| format!(", std {}", duration(std)));
    format!(
        "median {}, mean {}{std}, min {}, max {} over {}",
        duration(all.median_ns),
        duration(all.mean_ns),
        duration(all.min_ns),
        duration(all.max_ns),
        counted(all.count, "entry", "entries")
    )
}

/// How exact a figure is, in words.
pub(crate) fn source_words(source: Source) -> String {
    match source {
        Source::Exact => "exact".to_owned(),
        Source::Sampled { interval_ns } => format!("sampled every {}", interval(interval_ns)),
        Source::LowerBound => "at least".to_owned(),
    }
}

/// The mark that follows a figure of this source.
pub(crate) const fn source_mark(source: Source) -> &'static str {
    match source {
        Source::Exact => "",
        Source::Sampled { .. } => "~",
        Source::LowerBound => "≥",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Direction;

    #[test]
    fn several_values_are_their_median_and_range() {
        let figure = |values: &[f64]| Figure {
            name: "a.b.peak_rss".to_owned(),
            phase: Some("a.b".to_owned()),
            unit: Unit::Bytes,
            direction: Direction::Lower,
            source: None,
            values: values.to_vec(),
            at_most: Vec::new(),
        };
        let of = |values: &[f64]| Summary::of(&figure(values));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some(Summary { value: 2.0, range: Some((1.0, 3.0)) }));
        assert_eq!(of(&[4.0, 1.0]), Some(Summary { value: 2.5, range: Some((1.0, 4.0)) }));
        assert_eq!(of(&[7.0]), Some(Summary { value: 7.0, range: None }));
        assert_eq!(of(&[f64::NAN]), None);
        assert_eq!(bare(&figure(&[])), "peak_rss");
    }
}
