//! A memory snapshot: why memory ran out, what it was used for and how it is fragmented; and what changed between two
//! snapshots.

use plimsoll_diagnose::snapshot::{
    Band, CategorySource, Culprit, DeviceFindings, Difference, Frame, LeakSuspect, MemoryState, OomFinding,
    SegmentGroup, SnapshotFindings, StackDifference,
};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, apart};
use plimsoll_memory::text::{LABEL, clean, counted, duration, labelled, styled};

/// Maximum number of rows on a terminal; JSON and the page have the rest.
const ROWS: usize = 8;

/// Writes the findings of a snapshot.
pub fn snapshot(findings: &SnapshotFindings, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = format!(" {}\n", styled(&clean(&findings.name), palette.heading));
    let format = &findings.format;
    let protocol = format.protocol.map_or(String::new(), |protocol| format!(", pickle protocol {protocol}"));
    let words = format!("memory snapshot of {}{protocol}, {} distinct stacks", format.bytes, format.stacks);
    text.push_str(&labelled("", palette.dim, &words, 0, screen));
    if let Some(conf) = findings.settings.as_ref().and_then(|settings| settings.conf.as_deref()) {
        text.push_str(&labelled("allocator", palette.dim, conf, LABEL, screen));
    }
    for device in &findings.devices {
        text.push_str(&of_device(device, screen));
    }
    if findings.devices.is_empty() {
        text.push_str(&labelled(
            "empty",
            palette.warn,
            "the allocator held no memory and recorded no trace",
            LABEL,
            screen,
        ));
    }
    if findings.broken.count > 0 {
        let sums = counted(findings.broken.count as usize, "sum does", "sums do");
        let words = format!("{sums} not agree, do not trust the conclusions: {}", findings.broken.first.join("; "));
        text.push('\n');
        text.push_str(&labelled("? broken", palette.warn, &words, LABEL, screen));
    }
    text
}

fn of_device(device: &DeviceFindings, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = String::from("\n");
    text.push_str(&labelled(
        &format!("device {}", device.device),
        palette.heading,
        &state(&device.state),
        LABEL,
        screen,
    ));
    if let Some(trace) = &device.trace {
        let span = trace.span.map_or(String::new(), |span| format!(" over {}", duration(span.as_nanos() as f64)));
        let mut words = format!("{}{span}", counted(trace.entries as usize, "entry", "entries"));
        if trace.frees_of_older > 0 {
            words.push_str(&format!(
                "; {} of memory older than the first",
                counted(trace.frees_of_older as usize, "free", "frees")
            ));
        }
        text.push_str(&labelled("trace", palette.dim, &words, LABEL, screen));
        if let Some(oom) = trace.ooms.last() {
            let others = match trace.oom_count {
                1 => String::new(),
                count => format!("the last of {count}: "),
            };
            text.push_str(&failed(oom, &others, screen));
        }
        let peak = &trace.peak;
        let when = peak.point.time.map_or(String::new(), |time| format!(" after {}", duration(time.as_nanos() as f64)));
        let words = format!(
            "{} allocated{when}, of {} reserved; most reserved {}",
            peak.point.allocated, peak.point.reserved, trace.peak_reserved.reserved
        );
        text.push('\n');
        text.push_str(&labelled("peak", palette.heading, &words, LABEL, screen));
        text.push_str(&bands(&peak.bands, peak.point.allocated, screen));
        text.push_str(&culprits(&peak.culprits, peak.point.allocated, peak.stacks, screen));
        text.push_str(&leaks(&trace.leaks, screen));
    } else {
        let total = device.bands.iter().map(|band| band.bytes).sum();
        text.push_str(&labelled(
            "trace",
            palette.warn,
            "none: _record_memory_history was not enabled; below is the end",
            LABEL,
            screen,
        ));
        text.push_str(&bands(&device.bands, total, screen));
        text.push_str(&culprits(&device.live, total, device.live.len() as u64, screen));
    }
    text.push_str(&groups(&device.groups, screen));
    text
}

fn state(state: &MemoryState) -> String {
    let pending = match state.pending_free {
        ByteSize::ZERO => String::new(),
        pending => format!(", {pending} freed but still worked on"),
    };
    format!(
        "{} reserved in {}: {} allocated{pending}, {} free in blocks of at most {}",
        state.reserved,
        counted(state.segments as usize, "segment", "segments"),
        state.allocated,
        state.free,
        state.largest_free
    )
}

fn failed(oom: &OomFinding, others: &str, screen: &Screen) -> String {
    let palette = &screen.palette;
    let words =
        format!("{others}tried {} with {} free on the device: {}", oom.tried, oom.device_free, oom.verdict.word());
    let mut text = format!("\n{}", labelled("✗ OOM", palette.bad, &words, LABEL, screen));
    let point = &oom.moment.point;
    let largest = oom.largest_free.map_or(String::new(), |largest| format!(", largest free block {largest}"));
    let words = format!("{} allocated of {} reserved{largest}", point.allocated, point.reserved);
    text.push_str(&labelled("memory", palette.dim, &words, LABEL, screen));
    text.push_str(&labelled("asked by", palette.dim, &stack_words(&oom.stack), LABEL, screen));
    text.push_str(&bands(&oom.moment.bands, point.allocated, screen));
    text
}

/// A stack on one line: its innermost frame, and if that belongs to a library, before it the innermost frame of the
/// user's code. A narrow column cuts the beginning.
fn stack_words(stack: &[Frame]) -> String {
    let library = |frame: &Frame| {
        ["site-packages", "dist-packages", "/torch/", "lib/python"].iter().any(|part| frame.file.contains(part))
    };
    let Some(first) = stack.first() else { return "(no stack recorded)".to_owned() };
    match stack.iter().find(|frame| !library(frame)) {
        Some(own) if library(first) => format!("{own} → {first}"),
        _ => first.to_string(),
    }
}

fn percent(part: ByteSize, whole: ByteSize) -> String {
    let whole = whole.bytes().max(1) as f64;
    format!("{:.1} %", 100.0 * part.bytes() as f64 / whole)
}

fn bands(bands: &[Band], total: ByteSize, screen: &Screen) -> String {
    if bands.is_empty() {
        return String::new();
    }
    let each: Vec<String> = bands
        .iter()
        .map(|band| format!("{} {} ({})", band.category.name(), band.bytes, percent(band.bytes, total)))
        .collect();
    let profiler = bands.iter().any(|band| band.source == CategorySource::Profiler);
    let source = if profiler { "by the profiler" } else { "by stack" };
    labelled("used for", screen.palette.dim, &format!("{}, {source}", each.join(", ")), LABEL, screen)
}

fn culprits(culprits: &[Culprit], total: ByteSize, stacks: u64, screen: &Screen) -> String {
    let rows: Vec<Vec<Cell>> = culprits
        .iter()
        .take(ROWS)
        .map(|culprit| {
            vec![
                Cell::plain(clean(&stack_words(&culprit.stack))),
                Cell::plain(culprit.bytes.to_string()),
                Cell::plain(percent(culprit.bytes, total)),
                Cell::plain(culprit.count.to_string()),
                Cell::new(culprit.category.name(), screen.palette.dim),
            ]
        })
        .collect();
    let titles = [
        ("allocated by", Align::Left, 0),
        ("bytes", Align::Right, 0),
        ("share", Align::Right, 1),
        ("blocks", Align::Right, 3),
        ("for", Align::Left, 2),
    ];
    let mut text = apart(titles, &rows, screen);
    if stacks as usize > rows.len() {
        let more = counted(stacks as usize - rows.len(), "more stack", "more stacks");
        text.push_str(&labelled("", screen.palette.dim, &more, 0, screen));
    }
    text
}

fn leaks(leaks: &[LeakSuspect], screen: &Screen) -> String {
    let mut text = String::new();
    for leak in leaks.iter().take(ROWS) {
        let words = format!(
            "{} kept of {}, {} freed: {}",
            leak.kept.bytes,
            counted(leak.allocations as usize, "allocation", "allocations"),
            leak.frees,
            stack_words(&leak.kept.stack)
        );
        text.push_str(&labelled("? leak", screen.palette.warn, &words, LABEL, screen));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn groups(groups: &[SegmentGroup], screen: &Screen) -> String {
    let rows: Vec<Vec<Cell>> = groups
        .iter()
        .take(ROWS)
        .map(|group| {
            let pool = group.pool.map_or(String::new(), |(a, b)| format!("private pool ({a}, {b})"));
            let kind = match group.large {
                Some(true) => "large ",
                Some(false) => "small ",
                None => "",
            };
            let expandable = if group.expandable { "expandable " } else { "" };
            let name =
                format!("stream {}, {kind}{expandable}{pool}", group.stream).trim_end_matches([',', ' ']).to_owned();
            let scattered =
                group.state.fragmentation().map_or(String::new(), |share| format!("{:.0} %", 100.0 * share));
            vec![
                Cell::plain(name),
                Cell::plain(group.state.reserved.to_string()),
                Cell::plain(group.state.allocated.to_string()),
                Cell::plain(group.state.free.to_string()),
                Cell::plain(group.state.largest_free.to_string()),
                Cell::new(scattered, screen.palette.dim),
            ]
        })
        .collect();
    let titles = [
        ("at the end", Align::Left, 0),
        ("reserved", Align::Right, 1),
        ("allocated", Align::Right, 3),
        ("free", Align::Right, 0),
        ("largest fit", Align::Right, 0),
        ("scattered", Align::Right, 2),
    ];
    if rows.is_empty() { String::new() } else { apart(titles, &rows, screen) }
}

/// Writes what changed between two snapshots, by stack.
pub fn snapshot_difference(difference: &Difference, screen: &Screen) -> String {
    let palette = &screen.palette;
    let names = format!("{} → {}", difference.baseline, difference.name);
    let mut text = format!(" {}\n", styled(&clean(&names), palette.heading));
    let change = |(before, after): (ByteSize, ByteSize)| format!("{before} → {after} ({})", growth(before, after));
    text.push_str(&labelled("reserved", palette.dim, &change(difference.reserved), LABEL, screen));
    text.push_str(&labelled("allocated", palette.dim, &change(difference.allocated), LABEL, screen));
    let rows: Vec<Vec<Cell>> = difference.stacks.iter().take(ROWS).map(|stack| changed(stack, screen)).collect();
    if rows.is_empty() {
        text.push_str(&labelled("stacks", palette.good, "no stack holds more or less than before", LABEL, screen));
        return text;
    }
    let titles = [
        ("allocated by", Align::Left, 0),
        ("bytes", Align::Right, 0),
        ("before", Align::Right, 2),
        ("after", Align::Right, 1),
        ("blocks", Align::Right, 3),
    ];
    text.push_str(&apart(titles, &rows, screen));
    let rest = difference.changed as usize - rows.len();
    let words = format!("{rest} more changed, {} as before", counted(difference.unchanged as usize, "stack", "stacks"));
    text.push_str(&labelled("", palette.dim, &words, 0, screen));
    text
}

fn changed(stack: &StackDifference, screen: &Screen) -> Vec<Cell> {
    let (before, after) = stack.bytes;
    let style = if stack.growth() > 0 { screen.palette.warn } else { screen.palette.good };
    vec![
        Cell::plain(clean(&stack_words(&stack.stack))),
        Cell::new(growth(before, after), style),
        Cell::plain(before.to_string()),
        Cell::plain(after.to_string()),
        Cell::plain(format!("{} → {}", stack.count.0, stack.count.1)),
    ]
}

fn growth(before: ByteSize, after: ByteSize) -> String {
    if after >= before {
        format!("+{}", after.saturating_sub(before))
    } else {
        format!("-{}", before.saturating_sub(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::Palette;
    use plimsoll_diagnose::snapshot::{Options, Snapshot};

    fn fixture() -> Snapshot {
        let bytes = include_bytes!("../../../tests/fixtures/snapshot.pickle");
        Snapshot::read("snapshot.pickle", &bytes[..], Options { top: 4, ..Options::default() }).unwrap()
    }

    #[test]
    fn a_snapshot_on_a_wide_and_a_narrow_screen() {
        let findings = fixture().findings().unwrap();
        for width in [120, 60] {
            let text = snapshot(&findings, &Screen::new(width, Palette::plain()));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert_snapshot(&format!("terminal_snapshot_{width}"), &text);
        }
    }

    #[test]
    fn a_snapshot_as_json() {
        let findings = fixture().findings().unwrap();
        assert_snapshot("snapshot_findings", &serde_json::to_string_pretty(&findings).unwrap());
    }

    #[test]
    fn a_difference() {
        let bytes = include_bytes!("../../../tests/fixtures/snapshot_earlier.pickle");
        let earlier = Snapshot::read("earlier.pickle", &bytes[..], Options::default()).unwrap();
        let text = snapshot_difference(&fixture().difference(&earlier), &Screen::new(100, Palette::plain()));
        assert_snapshot("terminal_snapshot_difference", &text);
        let same = snapshot_difference(&fixture().difference(&fixture()), &Screen::new(100, Palette::plain()));
        assert!(same.contains("no stack holds more or less"), "{same}");
    }
}
