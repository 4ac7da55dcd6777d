//! DeepSpeed's `see_memory_usage`: three lines, the figures rounded to two decimals and Max_CA to a whole number.

use super::figure::Figure;
use super::sample::Metric;
use super::scan::number;

const GB: u64 = 1 << 30;

/// Figures of the line `MA 9.36 GB         Max_MA 21.36 GB         CA 24.05 GB         Max_CA 24 GB`.
pub(super) fn device(text: &str) -> Option<[(Metric, Option<Figure>); 4]> {
    // Trailing zeros are dropped, so `9.4` is as precise as `9.36`.
    let figure = |name: &str, step: f64| {
        let found = number(word(text, name)?)?;
        Figure::rounded(found.value, GB, step)
    };
    let figures = [
        (Metric::Allocated, figure("MA ", 0.01)),
        (Metric::MaxAllocated, figure("Max_MA ", 0.01)),
        (Metric::Reserved, figure("CA ", 0.01)),
        (Metric::MaxReserved, figure("Max_CA ", 1.0)),
    ];
    figures.iter().any(|(_, figure)| figure.is_some()).then_some(figures)
}

/// The figure of the line `CPU Virtual Memory:  used = 135.33 GB, percent = 13.4%`, for the whole machine.
pub(super) fn host(text: &str) -> Option<Figure> {
    let rest = super::scan::behind(text, "CPU Virtual Memory:")?;
    Figure::rounded(super::scan::after(rest, "used =")?.value, GB, 0.01)
}

/// The text after `name` if `name` is a whole word: `MA` is not the end of `Max_MA`.
fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let at =
        text.match_indices(name).find(|&(at, _)| !text[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric()))?;
    Some(&text[at.0 + name.len()..])
}
