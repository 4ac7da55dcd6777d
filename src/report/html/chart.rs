//! The charts of a run: an SVG stretched over the plot, and labels of fixed size, both placed in percent.

use std::fmt::Write;

use serde::Serialize;

use super::axis;
use super::course::Course;
use super::layers::{self, Layer};
use super::lines::{LoadLine, Sea, lines};
use super::path::{HEIGHT, WIDTH};
use super::{Body, escaped, path, ticks};
use crate::record::Record;
use crate::report::page::{Level, data, mark};
use crate::report::terminal::{clean, duration};
use plimsoll_memory::meter::Metric;

/// A ceiling more than this many times the peak would flatten the chart, so it is named above the plot instead.
const FARTHEST: u64 = 4;

/// The values that the script shows under the pointer.
#[derive(Serialize)]
struct Values<'a> {
    span: u64,
    /// Nanoseconds since the first phase began.
    at: Vec<u64>,
    series: Vec<Series<'a>>,
    phases: Vec<(String, u64, u64)>,
}

#[derive(Serialize)]
struct Series<'a> {
    name: &'a str,
    class: &'a str,
    values: &'a [Option<u64>],
}

/// Draws the charts of `record` over time, one below the other.
pub(super) fn charts(out: &mut Body, record: &Record, course: &Course<'_>) {
    if course.moments.is_empty() || course.span_ns == 0 {
        let why = "The run ended before a sample was taken; its peaks are the kernel's own counters.";
        let _ = writeln!(out, "<p class=\"panel soft\">{why}</p>");
        return;
    }
    out.push_str("<section class=\"panel voyage\" aria-label=\"Memory over time\">\n");
    phases(out, course);
    let (kinds, processes, system) = (layers::kinds(course), layers::processes(course), layers::system(course));
    let tree = lines(record, Sea::Tree);
    let top = domain(course.peak(), &tree);
    plot(out, course, &kinds, &tree, top, Plot::Tree);
    if !processes.is_empty() {
        plot(out, course, &processes, &[], domain(course.peak(), &[]), Plot::Processes);
    }
    if let [available] = &*system {
        let lines = lines(record, Sea::System);
        let most = available.values.iter().flatten().max().copied().unwrap_or(0);
        plot(out, course, &system, &lines, domain(most, &lines), Plot::System);
    }
    times(out, course);
    let shown: Vec<&Layer> = kinds.iter().chain(processes.iter().rev()).chain(&system).collect();
    legend(out, &shown);
    values(out, course, &shown);
    out.push_str("</section>\n");
}

/// One of the plots below each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plot {
    Tree,
    Processes,
    System,
}

/// The top of the scale: room for the memory and for every line that is not far above it.
fn domain(peak: u64, lines: &[LoadLine<'_>]) -> u64 {
    let near = lines.iter().map(|line| line.at).filter(|&at| at <= peak.saturating_mul(FARTHEST));
    let top = near.chain([peak, 1]).max().unwrap_or(1);
    top.saturating_add(top / 11)
}

/// Writes the names of the phases above the plots.
fn phases(out: &mut Body, course: &Course<'_>) {
    out.push_str("<div class=\"phases\"><div class=\"track\">");
    for stretch in &course.stretches {
        let (from, to) = (course.share(stretch.from_ns), course.share(stretch.to_ns));
        let name = escaped(&stretch.phase.phase);
        let took = duration(stretch.phase.wall_ns as f64);
        let (left, width) = (out.left(from), out.width(to - from));
        let _ = write!(
            out,
            "<span class=\"x {left} {width}\" data-from=\"{from:.5}\" data-to=\"{to:.5}\" title=\"{name}, {took}\">\
             <i><b>{name}</b> {took}</i></span>"
        );
    }
    out.push_str("</div></div>\n");
}

fn plot(out: &mut Body, course: &Course<'_>, layers: &[Layer], lines: &[LoadLine<'_>], top: u64, kind: Plot) {
    let tall = kind == Plot::Tree;
    let share = |bytes: u64| 1.0 - bytes.min(top) as f64 / top as f64;
    let _ = write!(
        out,
        "<div class=\"chart{}\">\n<div class=\"scale\" aria-hidden=\"true\">",
        if tall { "" } else { " low" }
    );
    let ticks: Vec<u64> = axis::bytes(top);
    // The lower plot is half as high.
    let every = if tall { 1 } else { 2 };
    for (at, &bytes) in ticks.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let odd = if at % (2 * every) == 0 { "" } else { " odd" };
        let top = out.top(share(bytes));
        let _ = write!(out, "<span class=\"{top}{odd}\">{}</span>", axis::amount(bytes));
    }
    let label = match kind {
        Plot::Tree => "Memory of all processes by kind",
        Plot::Processes => "Resident memory by process",
        Plot::System => "Available memory of the system",
    };
    let _ = write!(
        out,
        "</div>\n<div class=\"plot\" tabindex=\"0\" role=\"img\" aria-label=\"{label} over time, up to {}; the arrow keys \
         move the cursor\">\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        axis::amount(top)
    );
    for (at, stretch) in course.stretches.iter().enumerate() {
        let (from, to) = (course.share(stretch.from_ns) * WIDTH, course.share(stretch.to_ns) * WIDTH);
        if at % 2 == 1 {
            let _ = write!(
                out,
                "<rect class=\"band\" x=\"{from:.2}\" y=\"0\" width=\"{:.2}\" height=\"{HEIGHT}\"/>",
                to - from
            );
        }
    }
    let grid = path::grid(ticks.iter().map(|&bytes| share(bytes) * HEIGHT));
    let _ = write!(out, "<path class=\"grid\" d=\"{grid}\"/>");
    for layer in layers {
        layer_of(out, course, layer, &|bytes| share(bytes) * HEIGHT);
    }
    // Drawn above every layer: any kind of memory may pass the line.
    for layer in layers {
        past_lines(out, course, layer, lines, &|bytes| share(bytes) * HEIGHT);
    }
    if tall {
        high_water(out, course, &|bytes| share(bytes) * HEIGHT);
    }
    out.push_str("</svg>\n");
    if tall {
        let peak = course.peak();
        let top = out.top(share(peak));
        let _ = write!(out, "<div class=\"high-label {top}\">peak {}</div>", plimsoll_memory::ByteSize::new(peak));
    }
    if !tall {
        let _ = write!(out, "<div class=\"caption\">{label}</div>");
    }
    load_lines(out, lines, top, course, &share);
    out.push_str("<div class=\"cursor\" hidden></div></div>\n</div>\n");
}

/// Draws a layer: an area, or a line for memory that does not stack with the others.
fn layer_of(out: &mut Body, course: &Course<'_>, layer: &Layer, y: &dyn Fn(u64) -> f64) {
    if layer.line {
        let x = |at: usize| course.share(course.moments[at].at_ns) * WIDTH;
        let levels = layer.tops.iter().enumerate().filter_map(|(at, top)| Some((x(at), y((*top)?))));
        let _ = write!(out, "<path class=\"{}\" d=\"{}\"/>", layer.class, path::outline(levels, WIDTH));
        return;
    }
    let area = area_of(course, layer, y, &|_| true, 0);
    let _ = write!(out, "<path class=\"{}\" d=\"{area}\"/>", layer.class);
}

/// Draws the parts of a layer above its ceilings.
fn past_lines(out: &mut Body, course: &Course<'_>, layer: &Layer, lines: &[LoadLine<'_>], y: &dyn Fn(u64) -> f64) {
    for line in lines.iter().filter(|line| !layer.line && layer.limited_by.contains(&line.verdict.metric)) {
        let (limit, floor) = (line.at, line.verdict.metric.is_floor());
        let past = area_of(course, layer, y, &|bytes| if floor { bytes < limit } else { bytes > limit }, limit);
        if !past.is_empty() {
            let _ = write!(out, "<path class=\"over\" d=\"{past}\"/>");
        }
    }
}

/// Draws the path between `bottom` and the upper edge of a layer, if the layer is to be drawn.
fn area_of(
    course: &Course<'_>,
    layer: &Layer,
    y: &dyn Fn(u64) -> f64,
    keep: &dyn Fn(u64) -> bool,
    bottom: u64,
) -> String {
    let x = |at: usize| course.share(course.moments[at].at_ns) * WIDTH;
    let levels = layer.tops.iter().enumerate().map(|(at, top)| (x(at), top.filter(|&bytes| keep(bytes)).map(y)));
    path::area(levels, WIDTH, y(bottom))
}

/// Draws the peak of each phase. It may exceed every sample: the kernel's high-water mark misses nothing.
fn high_water(out: &mut Body, course: &Course<'_>, y: &dyn Fn(u64) -> f64) {
    let mut path = String::new();
    for stretch in &course.stretches {
        if let Some(reading) = stretch.phase.readings.get(&Metric::PeakRss) {
            let (from, to) = (course.share(stretch.from_ns) * WIDTH, course.share(stretch.to_ns) * WIDTH);
            let _ = write!(path, "M{from:.2} {:.1}H{to:.2}", y(reading.bytes.bytes()));
        }
    }
    let _ = write!(out, "<path class=\"high\" d=\"{path}\"/>");
}

/// Draws the ceilings as lines through the plot. Their labels keep a distance from each other.
fn load_lines(out: &mut Body, lines: &[LoadLine<'_>], top: u64, course: &Course<'_>, share: &dyn Fn(u64) -> f64) {
    let mut far = Vec::new();
    let mut lowest = f64::NEG_INFINITY;
    for line in lines {
        if line.at > top {
            far.push(line);
            continue;
        }
        let y = share(line.at);
        // A label is about 9 % of a plot's height.
        lowest = y.max(lowest + 0.09);
        let (y, label) = (out.top(y), out.top(lowest));
        let _ = write!(
            out,
            "<div class=\"load-line {} {y}\"></div><div class=\"load-label {0} {label}\">{}\
             <span>{}</span></div>",
            line.class(),
            mark(Level::Empty),
            escaped(&line.label())
        );
    }
    if !far.is_empty() {
        out.push_str("<div class=\"far\">");
        for line in far {
            let times = line.at as f64 / course.peak().max(1) as f64;
            let _ = write!(
                out,
                "<span class=\"{}\">↑ {}<small>, {times:.1} × the peak</small></span>",
                line.class(),
                escaped(&line.label())
            );
        }
        out.push_str("</div>");
    }
}

fn times(out: &mut Body, course: &Course<'_>) {
    ticks::of_span(out, course.span_ns);
}

fn legend(out: &mut Body, layers: &[&Layer]) {
    out.push_str("<div class=\"legend\">");
    for layer in layers {
        let (name, note) = (escaped(&layer.name), layer.note);
        let _ = write!(out, "<span><i class=\"{}\"></i>{name} <small>{note}</small></span>", layer.class);
    }
    out.push_str("<span><i class=\"high\"></i>high-water mark <small>of each phase</small></span>");
    out.push_str("</div>\n");
}

fn values(out: &mut Body, course: &Course<'_>, layers: &[&Layer]) {
    let series = layers.iter().map(|layer| Series { name: &layer.name, class: &layer.class, values: &layer.values });
    let values = Values {
        span: course.span_ns,
        at: course.moments.iter().map(|moment| moment.at_ns).collect(),
        series: series.collect(),
        phases: course
            .stretches
            .iter()
            .map(|stretch| (clean(&stretch.phase.phase), stretch.from_ns, stretch.to_ns))
            .collect(),
    };
    out.push_str(&data(&values));
}
