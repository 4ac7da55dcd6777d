//! The charts of a run: an SVG that is stretched over the plot, and labels that keep their size, both placed in percent.

use std::fmt::Write;

use serde::Serialize;

use super::axis;
use super::course::{Course, Moment};
use super::lines::{LoadLine, Sea, lines};
use super::{escaped, path};
use crate::meter::Metric;
use crate::record::Record;
use crate::report::page::{Level, data, mark};
use crate::report::terminal::{clean, duration};

/// The coordinates within a plot.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;

/// A ceiling this many times above the peak would press the memory flat: it is told above the plot instead.
const FARTHEST: u64 = 4;

/// What the script shows under the pointer.
#[derive(Serialize)]
struct Values {
    span: u64,
    /// Nanoseconds since the first phase began.
    at: Vec<u64>,
    series: Vec<Series>,
    phases: Vec<(String, u64, u64)>,
}

#[derive(Serialize)]
struct Series {
    name: &'static str,
    class: &'static str,
    values: Vec<Option<u64>>,
}

/// One kind of memory on a chart.
struct Layer {
    name: &'static str,
    note: &'static str,
    class: &'static str,
    /// Its upper edge at a moment.
    top: fn(&Moment) -> Option<u64>,
    /// The ceilings above whose line it is marked.
    limited_by: &'static [Metric],
}

const TREE: [Layer; 2] = [
    Layer {
        name: "RSS",
        note: "all resident memory; the part above anonymous is of files and shared",
        class: "rss",
        top: |moment| Some(moment.rss),
        limited_by: &[Metric::PeakRss, Metric::PeakRssGrowth],
    },
    Layer {
        name: "anonymous",
        note: "heap, stacks, private copies",
        class: "anon",
        top: |moment| moment.anon,
        limited_by: &[Metric::PeakAnon, Metric::PeakAnonGrowth],
    },
];

const SYSTEM: [Layer; 1] = [Layer {
    name: "available",
    note: "on the whole system",
    class: "available",
    top: |moment| moment.available,
    limited_by: &[Metric::AvailableFloor],
}];

/// The charts of `record` over its time, below each other.
pub(super) fn charts(out: &mut String, record: &Record, course: &Course<'_>) {
    if course.moments.is_empty() || course.span_ns == 0 {
        let why = "The run was over before a sample was taken; its peaks are the kernel's own counters.";
        let _ = writeln!(out, "<p class=\"panel soft\">{why}</p>");
        return;
    }
    out.push_str("<section class=\"panel voyage\" aria-label=\"Memory over time\">\n");
    phases(out, course);
    let tree = lines(record, Sea::Tree);
    let top = domain(course.peak(), &tree);
    plot(out, course, &TREE, &tree, top, true);
    let least = course.moments.iter().filter_map(|moment| moment.available).min();
    if least.is_some() {
        let system = lines(record, Sea::System);
        let most = course.moments.iter().filter_map(|moment| moment.available).max().unwrap_or(0);
        plot(out, course, &SYSTEM, &system, domain(most, &system), false);
    }
    times(out, course);
    legend(out, course);
    values(out, course);
    out.push_str("</section>\n");
}

/// The top of the scale: room for the memory, and for every line that is not far above it.
fn domain(peak: u64, lines: &[LoadLine<'_>]) -> u64 {
    let near = lines.iter().map(|line| line.at).filter(|&at| at <= peak.saturating_mul(FARTHEST));
    let top = near.chain([peak, 1]).max().unwrap_or(1);
    top.saturating_add(top / 11)
}

/// The names of the phases, above the plots.
fn phases(out: &mut String, course: &Course<'_>) {
    out.push_str("<div class=\"phases\"><div class=\"track\">");
    for stretch in &course.stretches {
        let (from, to) = (course.share(stretch.from_ns), course.share(stretch.to_ns));
        let name = escaped(&stretch.phase.phase);
        let took = duration(stretch.phase.wall_ns as f64);
        let _ = write!(
            out,
            "<span class=\"x\" data-from=\"{from:.5}\" data-to=\"{to:.5}\" style=\"left:{:.3}%;width:{:.3}%\" \
             title=\"{name}, {took}\"><b>{name}</b> {took}</span>",
            from * 100.0,
            (to - from) * 100.0
        );
    }
    out.push_str("</div></div>\n");
}

fn plot(out: &mut String, course: &Course<'_>, layers: &[Layer], lines: &[LoadLine<'_>], top: u64, tall: bool) {
    let share = |bytes: u64| 1.0 - bytes.min(top) as f64 / top as f64;
    let _ = write!(
        out,
        "<div class=\"chart{}\">\n<div class=\"scale\" aria-hidden=\"true\">",
        if tall { "" } else { " low" }
    );
    let ticks: Vec<u64> = axis::bytes(top);
    // The lower plot has half the room.
    let every = if tall { 1 } else { 2 };
    for (at, &bytes) in ticks.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let odd = if at % (2 * every) == 0 { "" } else { " class=\"odd\"" };
        let _ = write!(out, "<span{odd} style=\"top:{:.3}%\">{}</span>", share(bytes) * 100.0, axis::amount(bytes));
    }
    let label = layers.iter().map(|layer| layer.name).collect::<Vec<_>>().join(" and ");
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
    let grid: String = ticks.iter().map(|&bytes| format!("M0 {:.1}H{WIDTH}", share(bytes) * HEIGHT)).collect();
    let _ = write!(out, "<path class=\"grid\" d=\"{grid}\"/>");
    for layer in layers {
        layer_of(out, course, layer, lines, &|bytes| share(bytes) * HEIGHT);
    }
    if tall {
        high_water(out, course, &|bytes| share(bytes) * HEIGHT);
    }
    out.push_str("</svg>\n");
    if tall {
        let peak = course.peak();
        let y = share(peak) * 100.0;
        let _ =
            write!(out, "<div class=\"high-label\" style=\"top:{y:.3}%\">peak {}</div>", crate::ByteSize::new(peak));
    }
    load_lines(out, lines, top, course, &share);
    out.push_str("<div class=\"cursor\" hidden></div></div>\n</div>\n");
}

/// A layer, and the part of it that is past a ceiling of its own.
fn layer_of(out: &mut String, course: &Course<'_>, layer: &Layer, lines: &[LoadLine<'_>], y: &dyn Fn(u64) -> f64) {
    let area = steps(course, layer.top, 0, y);
    let _ = write!(out, "<path class=\"{}\" d=\"{area}\"/>", layer.class);
    for line in lines.iter().filter(|line| layer.limited_by.contains(&line.verdict.metric)) {
        let (limit, floor) = (line.at, line.verdict.metric.is_floor());
        let past =
            |moment: &Moment| (layer.top)(moment).filter(|&bytes| if floor { bytes < limit } else { bytes > limit });
        let area = steps(course, past, limit, y);
        if !area.is_empty() {
            let _ = write!(out, "<path class=\"over\" d=\"{area}\"/>");
        }
    }
}

/// The area between `top` and `bottom` bytes, in stretches where there is a top.
fn steps(course: &Course<'_>, top: impl Fn(&Moment) -> Option<u64>, bottom: u64, y: &dyn Fn(u64) -> f64) -> String {
    let levels = course.moments.iter().map(|moment| (course.share(moment.at_ns) * WIDTH, top(moment).map(y)));
    path::area(levels, WIDTH, y(bottom))
}

/// The peak of each phase, which may be above every sample of it: the kernel's own mark misses nothing.
fn high_water(out: &mut String, course: &Course<'_>, y: &dyn Fn(u64) -> f64) {
    let mut path = String::new();
    for stretch in &course.stretches {
        if let Some(reading) = stretch.phase.readings.get(&Metric::PeakRss) {
            let (from, to) = (course.share(stretch.from_ns) * WIDTH, course.share(stretch.to_ns) * WIDTH);
            let _ = write!(path, "M{from:.2} {:.1}H{to:.2}", y(reading.bytes.bytes()));
        }
    }
    let _ = write!(out, "<path class=\"high\" d=\"{path}\"/>");
}

/// The ceilings: a line through the plot with the mark and its label, which make room for each other.
fn load_lines(out: &mut String, lines: &[LoadLine<'_>], top: u64, course: &Course<'_>, share: &dyn Fn(u64) -> f64) {
    let mut far = Vec::new();
    let mut lowest = f64::NEG_INFINITY;
    for line in lines {
        if line.at > top {
            far.push(line);
            continue;
        }
        let y = share(line.at) * 100.0;
        // A label is about 9 % of a plot high.
        let label = y.max(lowest + 9.0);
        lowest = label;
        let _ = write!(
            out,
            "<div class=\"load-line {}\" style=\"top:{y:.3}%\"></div><div class=\"load-label {0}\" style=\"top:{label:.3}%\">{}\
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
                "<span class=\"{}\">↑ {}, {times:.1} × the peak</span>",
                line.class(),
                escaped(&line.label())
            );
        }
        out.push_str("</div>");
    }
}

fn times(out: &mut String, course: &Course<'_>) {
    out.push_str("<div class=\"times\" aria-hidden=\"true\"><div class=\"track\">");
    for (at, ns) in axis::times(course.span_ns).into_iter().enumerate() {
        let share = course.share(ns);
        // The last would stand out of the page.
        if share <= 0.97 {
            let odd = if at % 2 == 0 { "" } else { " odd" };
            let _ =
                write!(out, "<span class=\"tick{odd}\" style=\"left:{:.3}%\">{}</span>", share * 100.0, axis::time(ns));
        }
    }
    out.push_str("</div></div>\n");
}

fn legend(out: &mut String, course: &Course<'_>) {
    out.push_str("<div class=\"legend\">");
    let item = |out: &mut String, layer: &Layer| {
        if course.moments.iter().any(|moment| (layer.top)(moment).is_some()) {
            let _ = write!(
                out,
                "<span><i class=\"{}\"></i>{} <small>{}</small></span>",
                layer.class, layer.name, layer.note
            );
        }
    };
    TREE.iter().chain(&SYSTEM).for_each(|layer| item(out, layer));
    out.push_str("<span><i class=\"high\"></i>high-water mark <small>of each phase</small></span>");
    out.push_str("</div>\n");
}

fn values(out: &mut String, course: &Course<'_>) {
    let series = TREE.iter().chain(&SYSTEM).map(|layer| Series {
        name: layer.name,
        class: layer.class,
        values: course.moments.iter().map(layer.top).collect(),
    });
    let values = Values {
        span: course.span_ns,
        at: course.moments.iter().map(|moment| moment.at_ns).collect(),
        series: series.filter(|series| series.values.iter().any(Option::is_some)).collect(),
        phases: course
            .stretches
            .iter()
            .map(|stretch| (clean(&stretch.phase.phase), stretch.from_ns, stretch.to_ns))
            .collect(),
    };
    out.push_str(&data(&values));
}
