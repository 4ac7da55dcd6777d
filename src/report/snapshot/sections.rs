//! The tables of a snapshot's page.

use std::fmt::Write;

use crate::report::page::{bar, escaped};
use crate::report::terminal::duration;
use plimsoll_diagnose::snapshot::{
    Band, Broken, CategorySource, Culprit, DeviceFindings, Frame, Moment, OomFinding, SegmentFindings,
    SnapshotFindings, TraceFindings,
};
use plimsoll_memory::bytes::ByteSize;

fn card(out: &mut String, label: &str, value: &str, note: &str, bad: bool) {
    let style = if bad { "card bad" } else { "card" };
    let _ = writeln!(
        out,
        "<div class=\"{style}\"><span>{}</span><b>{}</b><span>{}</span></div>",
        escaped(label),
        escaped(value),
        escaped(note)
    );
}

fn percent(part: ByteSize, whole: ByteSize) -> String {
    let share = if whole.bytes() == 0 { 0.0 } else { 100.0 * part.bytes() as f64 / whole.bytes() as f64 };
    format!("{share:.1} %")
}

/// Writes the most important figures.
pub(super) fn head(out: &mut String, findings: &SnapshotFindings) {
    let settings = findings.settings.as_ref().and_then(|settings| settings.conf.as_deref());
    let conf = settings.map_or(String::new(), |conf| format!(" · PYTORCH_CUDA_ALLOC_CONF={conf}"));
    let _ = writeln!(
        out,
        "<p class=\"soft\">Memory snapshot of PyTorch's allocator · {} · {} distinct frames{}</p>",
        findings.format.bytes,
        findings.format.frames,
        escaped(&conf)
    );
    out.push_str("<div class=\"cards\">\n");
    for device in &findings.devices {
        let of = if findings.devices.len() > 1 { format!("device {}: ", device.device) } else { String::new() };
        if let Some(trace) = &device.trace {
            if let Some(oom) = trace.ooms.last() {
                let note = format!("{} free on the device · {}", oom.device_free, oom.verdict.word());
                card(out, &format!("{of}OOM tried"), &oom.tried.to_string(), &note, true);
            }
            let peak = &trace.peak.point;
            let when = peak.time.map_or(String::new(), |time| format!("after {}", duration(time.as_nanos() as f64)));
            card(out, &format!("{of}allocated at the peak"), &peak.allocated.to_string(), &when, false);
            let note = format!("{} entries", trace.entries);
            card(out, &format!("{of}most reserved"), &trace.peak_reserved.reserved.to_string(), &note, false);
        }
        let state = &device.state;
        let note = format!("{} of {} reserved", percent(state.allocated, state.reserved), state.reserved);
        card(out, &format!("{of}allocated at the end"), &state.allocated.to_string(), &note, false);
        let note = format!("largest block {}", state.largest_free);
        card(out, &format!("{of}reserved and free"), &state.free.to_string(), &note, false);
    }
    out.push_str("</div>\n");
}

/// Writes everything about a device below its timeline.
pub(super) fn device(out: &mut String, device: &DeviceFindings, named: bool) {
    let of = if named { format!(" · device {}", device.device) } else { String::new() };
    if let Some(trace) = &device.trace {
        for oom in trace.ooms.iter().rev() {
            failed(out, oom, &of);
        }
        culprits(out, &format!("At the peak{of}"), &trace.peak);
        leaks(out, trace, &of);
    } else {
        let total: ByteSize = device.bands.iter().map(|band| band.bytes).sum();
        let _ = writeln!(out, "<h2>In use at the end{of} <small>{total} asked for</small></h2>");
        table_of_culprits(out, &device.live, total);
    }
    segments(out, device, &of);
}

fn failed(out: &mut String, oom: &OomFinding, of: &str) {
    culprits(out, &format!("At the OOM{of}"), &oom.moment);
    let point = &oom.moment.point;
    let _ = write!(
        out,
        "<p>Tried {}: {} allocated of {} reserved, {} free on the device",
        oom.tried, point.allocated, point.reserved, oom.device_free
    );
    if let Some(largest) = oom.largest_free {
        let _ = write!(out, ", the largest block that could serve it has {largest}");
    }
    let _ = writeln!(out, ". Verdict: <b>{}</b>.</p>", oom.verdict.word());
    out.push_str("<details><summary class=\"soft\">The stack that asked for it</summary>");
    frames(out, &oom.stack);
    out.push_str("</details>\n");
}

fn bands(out: &mut String, bands: &[Band], total: ByteSize) {
    out.push_str("<p class=\"soft\">");
    for (at, band) in bands.iter().enumerate() {
        let separator = if at == 0 { "" } else { " · " };
        let share = percent(band.bytes, total);
        let _ = write!(out, "{separator}{} {} ({share})", band.category.name(), band.bytes);
    }
    let profiler = bands.iter().any(|band| band.source == CategorySource::Profiler);
    out.push_str(if profiler { " · by the profiler</p>\n" } else { " · by stack</p>\n" });
}

fn culprits(out: &mut String, title: &str, moment: &Moment) {
    let total = moment.point.allocated;
    let _ = writeln!(out, "<h2>{title} <small>{total} allocated from {} stacks</small></h2>", moment.stacks);
    bands(out, &moment.bands, total);
    table_of_culprits(out, &moment.culprits, total);
}

fn frames(out: &mut String, stack: &[Frame]) {
    out.push_str("<ol class=\"frames\">");
    for frame in stack {
        let _ = write!(out, "<li>{} ({})</li>", escaped(&frame.to_string()), escaped(&frame.file));
    }
    out.push_str("</ol>");
}

fn stack(out: &mut String, stack: &[Frame]) {
    match stack.first() {
        None => out.push_str("<span class=\"soft\">no stack recorded</span>"),
        Some(first) => {
            let _ = write!(out, "<details><summary>{}</summary>", escaped(&first.to_string()));
            frames(out, stack);
            out.push_str("</details>");
        }
    }
}

fn table_of_culprits(out: &mut String, culprits: &[Culprit], total: ByteSize) {
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th class=\"number\">bytes</th><th class=\"number\">share</th>\
         <th class=\"number optional\">blocks</th><th class=\"optional\">for</th><th>allocated by</th></tr></thead><tbody>\n",
    );
    for culprit in culprits {
        let share = percent(culprit.bytes, total);
        let _ = write!(
            out,
            "<tr><td class=\"number\">{}{}</td>\
             <td class=\"number\">{share}</td><td class=\"number optional\">{}</td><td class=\"optional\">{}</td>\
             <td class=\"wide\">",
            culprit.bytes,
            bar(&[("part", culprit.bytes.bytes() as f64 / total.bytes().max(1) as f64)]),
            culprit.count,
            culprit.category.name(),
        );
        stack(out, &culprit.stack);
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn leaks(out: &mut String, trace: &TraceFindings, of: &str) {
    if trace.leaks.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>Leak suspects{of} <small>stacks that allocate all along and free nothing</small></h2>");
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th class=\"number\">kept</th><th class=\"number\">allocations</th>\
         <th class=\"number\">frees</th><th>allocated by</th></tr></thead><tbody>\n",
    );
    for leak in &trace.leaks {
        let _ = write!(
            out,
            "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"wide\">",
            leak.kept.bytes, leak.allocations, leak.frees
        );
        stack(out, &leak.kept.stack);
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn segments(out: &mut String, device: &DeviceFindings, of: &str) {
    let state = &device.state;
    let _ = writeln!(
        out,
        "<h2>Segments at the end{of} <small>{} segments, {} reserved</small></h2>\n\
         <p class=\"soft\">{} allocated, {} freed and still worked on, {} free ({} of it in unused segments), {} lost to \
         rounding</p>",
        state.segments,
        state.reserved,
        state.allocated,
        state.pending_free,
        state.free,
        state.releasable,
        state.rounding
    );
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>stream</th><th>pool</th><th>kind</th>\
         <th class=\"number\">reserved</th><th class=\"number\">allocated</th><th class=\"number\">free</th>\
         <th class=\"number\">largest that fits</th></tr></thead><tbody>\n",
    );
    for group in &device.groups {
        let pool = group.pool.map_or("common".to_owned(), |(a, b)| format!("({a}, {b})"));
        let kind = match group.large {
            Some(true) => "large",
            Some(false) => "small",
            None => "",
        };
        let kind = if group.expandable { format!("{kind}, expandable") } else { kind.to_owned() };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{pool}</td><td>{kind}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            group.stream, group.state.reserved, group.state.allocated, group.state.free, group.state.largest_free
        );
    }
    out.push_str("</tbody></table></div>\n");
    if device.fragmented.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>Fragmented segments{of} <small>free memory beside blocks in use</small></h2>");
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>segment</th><th class=\"number\">size</th>\
         <th class=\"number\">free</th><th class=\"number\">largest block</th><th>filled</th></tr></thead><tbody>\n",
    );
    for segment in &device.fragmented {
        fragmented(out, segment);
    }
    out.push_str("</tbody></table></div>\n");
}

fn fragmented(out: &mut String, segment: &SegmentFindings) {
    let _ = write!(
        out,
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td><div class=\"map\">",
        segment.address.as_deref().map_or("unknown".to_owned(), escaped),
        segment.state.reserved,
        segment.state.free,
        segment.state.largest_free
    );
    for part in segment.map.chars() {
        let tenths = if part == '#' { 10 } else { part.to_digit(10).unwrap_or(0) };
        let _ = write!(out, "<i class=\"tenths-{tenths}\"></i>");
    }
    out.push_str("</div></td></tr>\n");
}

/// Writes the sums that do not agree.
pub(super) fn broken(out: &mut String, broken: &Broken) {
    if broken.count == 0 {
        return;
    }
    let _ = write!(
        out,
        "<h2>Sums that do not agree <small>{}: do not trust the conclusions from them</small></h2>\n\
         <div class=\"panel broken\"><ul>",
        broken.count
    );
    for sum in &broken.first {
        let _ = write!(out, "<li>{}</li>", escaped(sum));
    }
    out.push_str("</ul></div>\n");
}
