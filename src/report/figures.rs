//! Wording for figures judged against a baseline (shifts, intervals, remarks), shared by all reports.

use crate::gate::{self, Comparison, Condition, ConditionChange, FigureVerdict, Interval, Method, Summary, Unit};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::{clean, duration, number, short};

/// The methods that the intervals come from, each once, with its confidence.
pub(crate) fn methods<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for comparison in comparisons {
        if let (Some(method), Some(interval)) = (&comparison.method, comparison.interval) {
            let text = format!("{method}, {}", percent_of(interval.confidence));
            if !methods.contains(&text) {
                methods.push(text);
            }
        }
    }
    methods
}

fn percent_of(confidence: f64) -> String {
    format!("{} %", (confidence * 1e4).round() / 1e2)
}

/// Formats a figure with a unit that fits its size.
pub(crate) fn amount(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => ByteSize::new(figure.round() as u64).to_string(),
        Unit::Nanoseconds => duration(figure),
        Unit::Count => number(figure),
    }
}

/// Formats a p-value.
pub(crate) fn chance(p: f64) -> String {
    if p < 1e-9 { "p < 1e-9".to_owned() } else { format!("p {p:.0e}") }
}

/// The change in percent, or as an amount if the baseline is zero.
pub(crate) fn change(comparison: &Comparison, before: f64) -> String {
    match comparison.shift {
        None => "-".to_owned(),
        Some(0.0) => "=".to_owned(),
        Some(shift) => moved(shift, before, comparison.unit),
    }
}

/// An interval in percent, or as amounts if the baseline is zero.
pub(crate) fn range(interval: Interval, before: f64, unit: Unit) -> String {
    if interval.low == 0.0 && interval.high == 0.0 {
        return "=".to_owned();
    }
    let [low, high] = [interval.low, interval.high].map(|end| moved(end, before, unit));
    format!("{} to {high}", low.strip_suffix(" %").unwrap_or(&low))
}

fn moved(shift: f64, before: f64, unit: Unit) -> String {
    if before > 0.0 {
        return format!("{:+.1} %", shift / before * 100.0);
    }
    format!("{}{}", if shift < 0.0 { "-" } else { "+" }, amount(shift.abs(), unit))
}

/// Remarks grouped by their text: figures that share a reason are listed with it once.
pub(crate) fn remarks<'a>(
    figures: impl Iterator<Item = &'a FigureVerdict>,
) -> Vec<(gate::Outcome, Vec<&'a str>, String)> {
    let mut remarks: Vec<(gate::Outcome, Vec<&str>, String)> = Vec::new();
    for figure in figures {
        // Texts that are shown alike are one remark, whatever stands in them.
        let words = clean(&figure_words(figure));
        match remarks.iter_mut().find(|(outcome, _, known)| *outcome == figure.outcome && *known == words) {
            Some((_, names, _)) => names.push(&figure.name),
            None => remarks.push((figure.outcome, vec![&figure.name], words)),
        }
    }
    remarks
}

/// Describes a condition that differs between two runs.
pub(crate) fn condition_words(change: &ConditionChange) -> String {
    let is_digest = |value: &str| change.condition == Condition::Semantics && value.starts_with("blake3:");
    let of = |value: &str| if is_digest(value) { short(value) } else { value.to_owned() };
    let allowed = if change.allowed { ", allowed" } else { "" };
    format!("{}: {} before, {} now{allowed}", change.condition, of(&change.before), of(&change.after))
}

/// Every remark on the judgement of a figure.
pub(crate) fn figure_words(judged: &FigureVerdict) -> String {
    let message = judged.comparison.as_ref().map(|comparison| comparison.message.clone());
    let dependent = judged.comparison.as_ref().and_then(dependence);
    [message, dependent, judged.note.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Says how many independent samples the values are worth if they depend on each other.
pub(crate) fn dependence(comparison: &Comparison) -> Option<String> {
    let Some(Method::Normal { baseline_effective, current_effective }) = comparison.method else { return None };
    let fewer = |summary: Option<Summary>, effective: f64| {
        summary.filter(|summary| effective < summary.count as f64).map(|summary| (summary.count, effective))
    };
    let sides = [
        ("the baseline", fewer(comparison.baseline, baseline_effective)),
        ("now", fewer(comparison.current, current_effective)),
    ];
    let words: Vec<String> = sides
        .into_iter()
        .filter_map(|(side, found)| found.map(|(count, effective)| format!("{count} of {side} as {effective:.0}")))
        .collect();
    (!words.is_empty()).then(|| format!("figures depend on the one before and count as fewer: {}", words.join(", ")))
}
