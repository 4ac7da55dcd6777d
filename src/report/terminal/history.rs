//! Figures over the commits on the terminal.

use std::fmt::Write as _;

use crate::gate::Subject;
use crate::gate::history::{HistoryReport, Series, Step};
use crate::report::figures::{amount, chance};
use plimsoll_memory::text::{Align, Cell, fitted};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, counted, labelled, percent};

/// The columns of the plot.
const PLOT: usize = 24;

/// Writes the subjects of a history and how many records each has.
pub fn history_subjects(subjects: &[(Subject, u64)], screen: &Screen) -> String {
    let columns = [("subject", Align::Left, 0), ("records", Align::Right, 0)];
    let row = |(subject, count): &(Subject, u64)| {
        vec![Cell::plain(clean(&subject.to_string())), Cell::plain(count.to_string())]
    };
    fitted(columns, &subjects.iter().map(row).collect::<Vec<_>>(), screen)
}

/// Writes the regressions of `reports` that nobody has accepted, each with the commits that may have caused it.
/// `between` lists the commits after one up to another.
pub fn history_check(
    reports: &[HistoryReport],
    between: &dyn Fn(&str, &str) -> Option<Vec<String>>,
    screen: &Screen,
) -> String {
    let palette = &screen.palette;
    let mut text = String::new();
    for (report, series, step) in
        reports.iter().flat_map(|report| report.regressions().map(move |(a, b)| (report, a, b)))
    {
        let point = &series.points[step.at];
        let words = format!("{} of {}, {}", series.figure, report.subject, step_words(series, step));
        text.push_str(&labelled("✗ worse", palette.bad, &words, 12, screen));
        let before = &series.points[step.at - 1];
        let commits = between(&before.commit, &point.commit);
        let listed = commits.unwrap_or_else(|| vec![format!("{} {}", point.short(), point.title)]);
        for (number, commit) in listed.iter().enumerate() {
            let label = if number == 0 { "  made by" } else { "  or by" };
            text.push_str(&labelled(label, palette.dim, commit, 12, screen));
        }
        let words = format!("plimsoll history accept {} --why TEXT", point.short());
        text.push_str(&labelled("  accept", palette.dim, &words, 12, screen));
    }
    text
}

/// Writes the figures of `report` over the commits: one row per commit with a plot, then the steps.
pub fn history(report: &HistoryReport, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = labelled("subject", palette.heading, &report.subject.to_string(), 12, screen);
    text.push_str(&labelled("branch", palette.heading, &report.branch, 12, screen));
    for series in &report.series {
        text.push('\n');
        text.push_str(&labelled("figure", palette.heading, &series.figure, 12, screen));
        text.push_str(&table(series, screen));
        text.push_str(&steps(series, screen));
    }
    text
}

fn table(series: &Series, screen: &Screen) -> String {
    let palette = &screen.palette;
    let columns = [
        ("commit", Align::Left, 0),
        ("made", Align::Left, 4),
        ("runs", Align::Right, 5),
        ("median", Align::Right, 0),
        ("change", Align::Right, 2),
        ("", Align::Left, 1),
        ("title", Align::Left, 3),
    ];
    let medians = || series.points.iter().map(|point| point.values.median);
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let rows: Vec<Vec<Cell>> = series
        .points
        .iter()
        .enumerate()
        .map(|(at, point)| {
            let value = point.values.median;
            let before = at.checked_sub(1).map(|before| series.points[before].values.median);
            let style = series.steps.iter().find(|step| step.at == at).map(|step| step_style(series, step, palette));
            let mark = if style.is_some() { "◆ " } else { "  " };
            vec![
                Cell::plain(clean(point.short())),
                Cell::new(point.day(), palette.dim),
                Cell::new(point.values.count.to_string(), palette.dim),
                Cell::plain(amount(value, series.unit)),
                Cell::plain(before.map_or_else(|| "-".to_owned(), |before| percent(before, value))),
                Cell::new(format!("{mark}{}", bar(value, least, most)), style.unwrap_or(palette.dim)),
                Cell::new(clean(&point.title).chars().take(50).collect::<String>(), palette.dim),
            ]
        })
        .collect();
    fitted(columns, &rows, screen)
}

/// A bar whose length ranges from the minimum value to the maximum.
fn bar(value: f64, least: f64, most: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if most > least { (value - least) / (most - least) } else { 0.0 };
    let eighths = 8 + (share * ((PLOT - 1) * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn step_style(series: &Series, step: &Step, palette: &Palette) -> anstyle::Style {
    if series.direction.is_worse(step.before, step.after) { palette.bad } else { palette.good }
}

/// One line per step, or why there is none.
fn steps(series: &Series, screen: &Screen) -> String {
    let palette = &screen.palette;
    if series.steps.is_empty() {
        let words = format!("none in {}", counted(series.points.len(), "commit", "commits"));
        return labelled("steps", palette.dim, &words, 12, screen);
    }
    let mut text = String::new();
    for step in &series.steps {
        let mut words = step_words(series, step);
        if let Some(why) = &step.accepted {
            let _ = write!(words, "; accepted: {why}");
        }
        text.push_str(&labelled("◆ step", step_style(series, step, palette), &words, 12, screen));
    }
    text
}

/// The size, place and certainty of a step.
fn step_words(series: &Series, step: &Step) -> String {
    let point = &series.points[step.at];
    format!(
        "{} at {} ({}): from {} to {}, {}",
        percent(step.before, step.after),
        point.short(),
        point.title,
        amount(step.before, series.unit),
        amount(step.after, series.unit),
        chance(step.p)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::history::sample;
    use crate::record::sample::assert_snapshot;

    #[test]
    fn a_new_step_with_the_commits_that_may_have_made_it() {
        let between = |_: &str, _: &str| Some(vec!["abc Keep the table".to_owned(), "def Read ahead".to_owned()]);
        let screen = Screen::new(120, Palette::plain());
        assert_snapshot("terminal_history_check", &history_check(&[sample()], &between, &screen));
        let alone = history_check(&[sample()], &|_, _| None, &screen);
        assert!(alone.contains("made by") && alone.contains("Change number 14 of the reader"), "{alone}");
    }

    #[test]
    fn commits_with_a_step() {
        for (name, width) in [("terminal_history", 120), ("terminal_history_narrow", 66)] {
            assert_snapshot(name, &history(&sample(), &Screen::new(width, Palette::plain())));
        }
    }
}
