//! The page of a snapshot.

use std::fmt::Write;

use serde::Serialize;

use super::sections;
use crate::report::page::{Body, Page, data, escaped};
use plimsoll_diagnose::snapshot::{Mark, Series, SnapshotFindings, Timeline};
use plimsoll_memory::bytes::ByteSize;

/// The data that the script draws.
#[derive(Serialize)]
struct Data<'a> {
    devices: Vec<DeviceData<'a>>,
}

#[derive(Serialize)]
struct DeviceData<'a> {
    entry: &'a [u64],
    /// Seconds since the first entry.
    time: Vec<f64>,
    reserved: &'a [ByteSize],
    allocated: &'a [ByteSize],
    stacks: Vec<SeriesData<'a>>,
    categories: Vec<SeriesData<'a>>,
    marks: &'a [Mark],
}

#[derive(Serialize)]
struct SeriesData<'a> {
    name: &'a str,
    stack: Vec<String>,
    bytes: &'a [ByteSize],
}

fn series(series: &[Series]) -> Vec<SeriesData<'_>> {
    let frames = |series: &Series| series.stack.iter().map(|frame| format!("{} ({})", frame, frame.file)).collect();
    series.iter().map(|series| SeriesData { name: &series.name, stack: frames(series), bytes: &series.bytes }).collect()
}

/// Writes the page of a snapshot, with a timeline for each device that has one: memory by stack or category over
/// entries or time, with the peak and OOMs marked. The file is self-contained and suits light and dark screens of any
/// width.
pub fn page(findings: &SnapshotFindings, timelines: &[Timeline]) -> String {
    let devices = timelines
        .iter()
        .map(|timeline| DeviceData {
            entry: &timeline.entry,
            time: timeline.time.iter().map(std::time::Duration::as_secs_f64).collect(),
            reserved: &timeline.reserved,
            allocated: &timeline.allocated,
            stacks: series(&timeline.stacks),
            categories: series(&timeline.categories),
            marks: &timeline.marks,
        })
        .collect();
    let mut out = String::new();
    let _ = writeln!(out, "<h1>{}</h1>", escaped(&findings.name));
    sections::head(&mut out, findings);
    if !timelines.is_empty() {
        chart(&mut out, timelines);
        out.push_str(&data(&Data { devices }));
    }
    for device in &findings.devices {
        sections::device(&mut out, device, findings.devices.len() > 1);
    }
    sections::broken(&mut out, &findings.broken);
    let title = format!("{}: memory snapshot", findings.name);
    let script = if timelines.is_empty() { "" } else { include_str!("chart.js") };
    Page { title: &title, style: include_str!("page.css"), body: &Body::from(out), script }.html()
}

/// Writes a group of buttons of which one is pressed.
fn choice(out: &mut String, set: &str, label: &str, values: &[(String, String)]) {
    let _ = write!(out, "<div class=\"group\" role=\"group\" aria-label=\"{label}\">");
    for (at, (value, text)) in values.iter().enumerate() {
        let pressed = at == 0;
        let _ = write!(
            out,
            "<button type=\"button\" data-set=\"{set}\" data-value=\"{value}\" aria-pressed=\"{pressed}\">{text}</button>"
        );
    }
    out.push_str("</div>\n");
}

fn chart(out: &mut String, timelines: &[Timeline]) {
    out.push_str("<section class=\"panel\" aria-label=\"Timeline\">\n<div class=\"controls\">\n");
    if timelines.len() > 1 {
        let devices: Vec<_> = timelines
            .iter()
            .enumerate()
            .map(|(at, timeline)| (at.to_string(), format!("device {}", timeline.device)))
            .collect();
        choice(out, "device", "Device", &devices);
    }
    let pair = |a: [&str; 2], b: [&str; 2]| [a, b].map(|[value, text]| (value.to_owned(), text.to_owned()));
    choice(out, "kind", "Parts", &pair(["stacks", "by stack"], ["categories", "by category"]));
    if timelines.iter().any(|timeline| timeline.time.len() == timeline.entry.len()) {
        choice(out, "axis", "Axis", &pair(["entry", "entries"], ["time", "time"]));
    }
    out.push_str(
        "<span class=\"hint\">Drag to zoom, double click to see all</span>\n</div>\n\
         <div id=\"chart-box\"><div id=\"chart\"></div><div id=\"tip\" hidden></div></div>\n\
         <noscript><p>The timeline needs JavaScript; the tables below do not.</p></noscript>\n\
         <p class=\"hint\">Allocated bytes <span id=\"where\">at the peak</span>, as they were asked for</p>\n\
         <div id=\"legend\"></div>\n</section>\n",
    );
}
