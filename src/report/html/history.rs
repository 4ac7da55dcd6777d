//! Figures over the commits: one plot per figure, marking the commits at which its level changed.

use std::fmt::Write;

use super::dots::{self, Details, Dot};
use super::meaning::{Topic, meaning};
use super::path::{HEIGHT, WIDTH};
use super::scale::Scale;
use super::{Body, escaped, page_of, path, table, ticks};
use crate::gate::Summary;
use crate::gate::history::{HistoryReport, Point, Series, Step};
use crate::record::{Direction, Unit};
use crate::report::figures::{amount, chance};
use crate::report::terminal::{counted, percent};

/// Maximum number of commits with a tick.
const TICKS: usize = 6;

/// The histories of subjects as an HTML page.
pub fn history_html(reports: &[HistoryReport]) -> String {
    let mut body = Body::default();
    for report in reports {
        subject(&mut body, report);
    }
    if reports.is_empty() {
        body.push_str("<h1>No record</h1>\n");
    }
    let title = match reports {
        [report] => format!("{}: history on {}", report.subject, report.branch),
        _ => format!("History of {}", counted(reports.len(), "subject", "subjects")),
    };
    meaning(&mut body, &[Topic::Steps, Topic::Figures]);
    page_of(&title, &body)
}

fn subject(out: &mut Body, report: &HistoryReport) {
    let _ = writeln!(out, "<article class=\"record\">");
    let _ = writeln!(out, "<h1>{}</h1>", escaped(&report.subject.to_string()));
    let longest = report.series.iter().map(|series| &series.points).max_by_key(|points| points.len());
    let span = match longest.map(|points| (&**points, points.first(), points.last())) {
        Some((points, Some(first), Some(last))) => {
            format!(", {} from {} to {}", counted(points.len(), "commit", "commits"), first.day(), last.day())
        }
        _ => String::new(),
    };
    let _ =
        writeln!(out, "<p class=\"soft\">over the commits of <b>{}</b>{}</p>", escaped(&report.branch), escaped(&span));
    let (same, mut moving): (Vec<&Series>, Vec<&Series>) = report.series.iter().partition(|series| is_constant(series));
    // The plot of time stands beside that of memory, if there is room.
    if let Some(time) = moving.iter().position(|series| series.unit == Unit::Nanoseconds).filter(|at| *at > 1) {
        moving[1..=time].rotate_right(1);
    }
    out.push_str("<div class=\"beside\">\n");
    for series in moving {
        out.push_str("<div>\n");
        plot(out, series);
        steps(out, series);
        commits(out, series);
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
    constant(out, &same);
    out.push_str("</article>\n");
}

/// Whether all runs over several commits took the same, so that a plot would be flat.
fn is_constant(series: &Series) -> bool {
    if series.points.len() == 1 {
        return false;
    }
    let mut values = series.points.iter().flat_map(|point| [point.values.min, point.values.max]);
    let first = values.next();
    values.all(|value| Some(value) == first)
}

/// Lists the figures that never changed on one line.
fn constant(out: &mut Body, series: &[&Series]) {
    let words = series.iter().filter_map(|series| {
        let last = series.points.last()?;
        let value = amount(last.values.median, series.unit);
        Some(format!("<code>{}</code> {value}", escaped(&series.figure)))
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        let _ = writeln!(out, "<p class=\"panel constant soft\">The same at every commit: {}</p>", words.join(", "));
    }
}

/// Horizontal position of commit `at` of `count`.
fn across(at: usize, count: usize) -> f64 {
    (at as f64 + 0.5) / count.max(1) as f64
}

fn plot(out: &mut Body, series: &Series) {
    let points = &series.points;
    let Some(last) = points.last() else { return };
    let scale = Scale::around(points.iter().flat_map(|point| [point.values.min, point.values.max]), series.unit);
    head(out, series, last);
    let _ = write!(out, "<div class=\"chart\"><div class=\"scale\" aria-hidden=\"true\">");
    let y = |value: f64| 1.0 - scale.share(value);
    let ticks = scale.ticks();
    for &tick in &ticks {
        let top = out.top(y(tick));
        let _ = write!(out, "<span class=\"{top}\">{}</span>", scale.words(tick));
    }
    let _ = write!(
        out,
        "</div><div class=\"plot dots along\" tabindex=\"0\" role=\"img\" aria-label=\"{} over {}; the arrow keys go from \
         commit to commit\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        escaped(&series.figure),
        counted(points.len(), "commit", "commits")
    );
    let grid = path::grid(ticks.iter().map(|&tick| y(tick) * HEIGHT));
    let _ = write!(out, "<path class=\"grid\" d=\"{grid}\"/>");
    let place = |at: usize, value: f64| format!("{:.2} {:.1}", across(at, points.len()) * WIDTH, y(value) * HEIGHT);
    let course = |values: &dyn Fn(&Point) -> f64, backwards: bool| {
        let mut places: Vec<String> = points.iter().enumerate().map(|(at, point)| place(at, values(point))).collect();
        if backwards {
            places.reverse();
        }
        places.join("L")
    };
    if points.iter().any(|point| point.values.count > 1) {
        let (above, below) = (course(&|point| point.values.max, false), course(&|point| point.values.min, true));
        let _ = write!(out, "<path class=\"spread\" d=\"M{above}L{below}Z\"/>");
    }
    levels(out, series, &|value| y(value) * HEIGHT);
    let _ = write!(
        out,
        "<path class=\"trend\" d=\"M{}\"/></svg><svg aria-hidden=\"true\">",
        course(&|point| point.values.median, false)
    );
    let drawn: Vec<Dot<'_>> = points
        .iter()
        .enumerate()
        .map(|(at, point)| {
            let step = series.steps.iter().find(|step| step.at == at);
            Dot {
                x: across(at, points.len()),
                y: y(point.values.median),
                class: step.map_or("one", |step| class(series, step)),
                details: details(series, at, step),
            }
        })
        .collect();
    dots::draw(out, &drawn);
    out.push_str("</svg>");
    for (number, step) in series.steps.iter().enumerate() {
        let x = step.at as f64 / points.len() as f64;
        let side = if x > 0.8 { " flip" } else { "" };
        // Labels of neighbours keep a distance from each other.
        let (left, top) = (out.left(x), out.top(0.02 + 0.08 * (number % 3) as f64));
        let _ = write!(
            out,
            "<div class=\"step-line {} {left}\"></div><div class=\"step-label {0}{side} {left} {top}\">{}</div>",
            class(series, step),
            escaped(&percent(step.before, step.after))
        );
    }
    dots::details(out, &drawn);
    out.push_str("</div></div>\n");
    times(out, points);
    out.push_str("</section>\n");
}

/// Writes the name of the figure, its latest value, and its trend in a word.
fn head(out: &mut Body, series: &Series, last: &Point) {
    let better = match series.direction {
        Direction::Lower => "less is better",
        Direction::Higher => "more is better",
    };
    let _ = write!(
        out,
        "<section class=\"panel over-commits\"><div class=\"strip-head\"><b>{}</b><strong>{}</strong><span \
         class=\"soft\">at the latest commit; {better}</span>",
        escaped(&series.figure),
        amount(last.values.median, series.unit)
    );
    match series.steps.last() {
        Some(step) => {
            let _ = write!(
                out,
                "<span class=\"{}\"><b>{}</b> since {}</span>",
                class(series, step),
                escaped(&percent(step.before, step.after)),
                escaped(series.points[step.at].day())
            );
        }
        None => out.push_str("<span class=\"soft\">no step</span>"),
    }
    out.push_str("</div>\n");
}

/// Draws the level between consecutive steps as a line over its commits.
fn levels(out: &mut Body, series: &Series, y: &dyn Fn(f64) -> f64) {
    let count = series.points.len();
    let ends: Vec<usize> = [0].into_iter().chain(series.steps.iter().map(|step| step.at)).chain([count]).collect();
    let mut path = String::new();
    for part in ends.windows(2) {
        let medians: Vec<f64> = series.points[part[0]..part[1]].iter().map(|point| point.values.median).collect();
        if let Some(level) = Summary::of(&medians) {
            let [from, to] = [part[0], part[1]].map(|at| at as f64 / count as f64 * WIDTH);
            let _ = write!(path, "M{from:.2} {:.1}H{to:.2}", y(level.median));
        }
    }
    let _ = write!(out, "<path class=\"level\" d=\"{path}\"/>");
}

fn class(series: &Series, step: &Step) -> &'static str {
    if series.direction.is_worse(step.before, step.after) { "bad" } else { "good" }
}

/// The details shown for the commit at `at`.
fn details(series: &Series, at: usize, step: Option<&Step>) -> Details {
    let point = &series.points[at];
    let (values, unit) = (&point.values, series.unit);
    let mut rows = vec![(&*series.figure, amount(values.median, unit))];
    if values.count > 1 {
        rows.push(("of runs", values.count.to_string()));
        rows.push(("least", amount(values.min, unit)));
        rows.push(("most", amount(values.max, unit)));
    }
    if let Some(before) = at.checked_sub(1).map(|before| series.points[before].values.median) {
        rows.push(("to the one before", percent(before, values.median)));
    }
    if let Some(step) = step {
        rows.push(("step of the level", percent(step.before, step.after)));
    }
    Details::new(&format!("{} · {} {}", point.short(), point.day(), point.title), rows)
}

/// One tick per commit, or a few if there are many: the day, or the commit's name if all are of one day.
fn times(out: &mut Body, points: &[Point]) {
    let one_day = points.iter().all(|point| point.day() == points[0].day());
    let every = points.len().div_ceil(TICKS).max(1);
    let ticks = points.iter().enumerate().step_by(every).map(|(at, point)| {
        let words = if one_day { point.short() } else { point.day() };
        (across(at, points.len()), escaped(words))
    });
    ticks::times(out, ticks);
}

/// Writes one row per step.
fn steps(out: &mut Body, series: &Series) {
    if series.steps.is_empty() {
        return;
    }
    let columns = [
        table::words("change"),
        table::words("commit"),
        table::words("level"),
        table::words("chance"),
        table::words("title"),
    ];
    let rows = series.steps.iter().map(|step| {
        let point = &series.points[step.at];
        vec![
            table::badge(class(series, step), escaped(&percent(step.before, step.after))),
            name(point),
            table::nowrap(&format!("{} → {}", amount(step.before, series.unit), amount(step.after, series.unit))),
            table::nowrap(&escaped(&chance(step.p))),
            match &step.accepted {
                Some(why) => escaped(&format!("{} (accepted: {why})", point.title)),
                None => escaped(&point.title),
            },
        ]
    });
    table::stack(out, &columns, rows);
    out.push_str("<p class=\"hint\">A step is where the level changed; chance: how often noise gives such a step anywhere in the history.</p>\n");
}

/// Writes every commit, folded.
fn commits(out: &mut Body, series: &Series) {
    let _ = writeln!(
        out,
        "<details class=\"fold\"><summary>{} of {}</summary>",
        counted(series.points.len(), "commit", "commits"),
        escaped(&series.figure)
    );
    let columns = [
        table::words("commit"),
        table::words("made"),
        table::figures("runs"),
        table::figures("median"),
        table::figures("least"),
        table::figures("most"),
        table::words("title"),
    ];
    let rows = series.points.iter().rev().map(|point| {
        let size = |value: f64| amount(value, series.unit);
        vec![
            name(point),
            table::nowrap(&escaped(point.day())),
            point.values.count.to_string(),
            size(point.values.median),
            size(point.values.min),
            size(point.values.max),
            table::nowrap(&escaped(&point.title)),
        ]
    });
    table::table(out, &columns, rows);
    out.push_str("</details>\n");
}

/// The short name of the commit; its full name appears under the pointer.
fn name(point: &Point) -> String {
    format!("<code class=\"nowrap\" title=\"{}\">{}</code>", escaped(&point.commit), escaped(point.short()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::history::sample;
    use crate::record::sample::assert_snapshot;
    use crate::report::page::body;

    #[test]
    fn commits_with_a_step() {
        assert_snapshot("html_history", body(&history_html(&[sample()])));
    }

    #[test]
    fn a_title_is_no_markup_and_nothing_is_no_page_of_a_panic() {
        let mut report = sample();
        report.series[0].points[14].title = "</script><img src=x>\u{202e}".to_owned();
        let page = history_html(&[report.clone()]);
        assert!(!page.contains("<img") && !page.contains('\u{202e}') && page.contains("&lt;img src=x&gt;"));
        assert!(page.contains("<div class=\"step-line bad"), "more is worse");
        report.series[0].points.truncate(1);
        report.series[0].steps.clear();
        assert!(history_html(&[report.clone()]).contains("no step"));
        report.series[0].points.clear();
        assert!(!history_html(&[report]).contains("<section"));
        assert!(history_html(&[]).contains("No record"));
    }
}
