//! Findings on the terminal: what ran out and what to do on the first screen, trends below.

use super::trends::trends;
use plimsoll_diagnose::estimate::Effect;
use plimsoll_diagnose::{Event, Findings, Form, Kind, Numbers, Verdict};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{LABEL, clean, counted, cut, labelled, styled, width, wrap};

/// Maximum number of different events shown; JSON has them all.
pub(crate) const SHOWN: usize = 6;
/// Maximum number of lines of evidence per event.
pub(crate) const EVIDENCE: usize = 3;
/// Maximum number of pieces of advice per event, unless all are requested.
pub(crate) const ADVICE: usize = 3;
/// Maximum number of inputs whose trends are shown.
const INPUTS: usize = 4;
/// Maximum number of dismissed lines shown.
const DISMISSED: usize = 5;

/// Writes one block per event, with events that differ only in their rank merged; the dismissed lines; and a closing
/// line that explains the exit code `code`.
pub fn findings(findings: &Findings, code: u8, screen: &Screen) -> String {
    whole(findings, code, ADVICE, screen)
}

/// Writes the findings with all available advice.
pub fn findings_with_all_advice(findings: &Findings, code: u8, screen: &Screen) -> String {
    whole(findings, code, usize::MAX, screen)
}

fn whole(findings: &Findings, code: u8, most: usize, screen: &Screen) -> String {
    let mut text = events(findings, most, screen);
    if findings.events.is_empty() {
        text.push_str(&dismissed(findings, screen));
    }
    text.push_str(&closing(findings, code, screen));
    text
}

/// Writes the diagnosis of a command for the document of its record.
pub(super) fn of_run(findings: &Findings, screen: &Screen) -> String {
    if findings.events.is_empty() {
        let line = format!("no memory event in {}", inputs(findings));
        return labelled("diagnosis", screen.palette.dim, &line, LABEL, screen);
    }
    events(findings, ADVICE, screen).trim_end().to_owned() + "\n"
}

/// Writes one block per event with at most `most` pieces of advice, and the trends.
fn events(findings: &Findings, most: usize, screen: &Screen) -> String {
    let mut text = String::new();
    let groups = groups(&findings.events);
    for group in groups.iter().take(SHOWN) {
        text.push_str(&block(group, most, screen));
    }
    let hidden = groups.len().saturating_sub(SHOWN) as u64 + findings.omitted_events.unwrap_or(0);
    if hidden > 0 {
        let line = format!("and {} more: --json has them", counted(hidden as usize, "event", "events"));
        text.push_str(&format!(" {}\n\n", styled(&line, screen.palette.dim)));
    }
    for report in findings.telemetry.iter().take(INPUTS) {
        if findings.telemetry.len() > 1 {
            text.push_str(&format!(" {}\n", styled(&clean(&report.name), screen.palette.heading)));
        }
        text.push_str(&trends(report, screen));
    }
    text
}

/// Groups events that differ only in where they happened.
pub(crate) fn groups(events: &[Event]) -> Vec<Vec<&Event>> {
    let mut groups: Vec<Vec<&Event>> = Vec::new();
    for event in events {
        let alike = |group: &&mut Vec<&Event>| {
            let first = group[0];
            (first.kind, first.verdict, &first.also, &first.backend)
                == (event.kind, event.verdict, &event.also, &event.backend)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(event),
            None => groups.push(vec![event]),
        }
    }
    groups
}

fn block(group: &[&Event], most: usize, screen: &Screen) -> String {
    let (palette, event) = (&screen.palette, group[0]);
    let (mark, style) = match (event.kind, event.verdict) {
        (Kind::Report, Verdict::ReportOnly | Verdict::CacheNotLeak) => ('✓', palette.good),
        (Kind::Report, Verdict::VariesByRank | Verdict::Inconclusive) => ('!', palette.warn),
        _ => ('✗', palette.bad),
    };
    let title = format!("{mark} {}", event.verdict);
    let mut text = format!(
        " {}  {}\n",
        styled(&title, style),
        cut(&clean(&what(group)), screen.width().saturating_sub(width(&title) + 3))
    );
    for line in wrap(&clean(&event.explanation), screen.width() - 4) {
        text.push_str(&format!("   {line}\n"));
    }
    text.push_str(&advice(event, most, screen));
    let numbers = numbers(&event.numbers);
    if !numbers.is_empty() {
        text.push_str(&labelled("numbers", palette.dim, &numbers, 12, screen));
    }
    let mut label = "evidence";
    for evidence in event.evidence.iter().take(EVIDENCE) {
        let place = format!("{}:{}: ", clean(&evidence.file), evidence.line);
        let line = format!("{place}{}", clean(&evidence.text));
        text.push_str(&format!(" {:12}{}\n", styled_padded(label, screen), cut(&line, screen.width() - 13)));
        label = "";
    }
    if event.occurrences > 1 {
        let line = match event.kind {
            Kind::Report => format!("of {}", counted(event.occurrences as usize, "report", "reports")),
            _ => format!("reported {}", counted(event.occurrences as usize, "time", "times")),
        };
        text.push_str(&format!(" {:12}{}\n", "", styled(&line, palette.dim)));
    }
    text.push('\n');
    text
}

/// `label`, dimmed and padded to twelve columns.
fn styled_padded(label: &str, screen: &Screen) -> String {
    format!("{}{:pad$}", styled(label, screen.palette.dim), "", pad = 12usize.saturating_sub(width(label)))
}

/// What ran out, and where.
pub(crate) fn what(group: &[&Event]) -> String {
    let event = group[0];
    let mut parts = vec![
        match event.kind {
            Kind::VramOom => "device memory ran out",
            Kind::HostOom => "the machine's memory ran out",
            Kind::CgroupOom => "a memory limit was reached",
            Kind::RayOom => "Ray's memory monitor killed a worker",
            Kind::HostAllocFail => "the host refused an allocation",
            Kind::Shm => "shared memory ran out",
            Kind::SigkillUnattributed => "killed with SIGKILL, cause not shown",
            Kind::Report if event.verdict == Verdict::ProcessCap => "a ceiling was broken",
            Kind::Report => "telemetry",
            Kind::None => "no memory event",
        }
        .to_owned(),
    ];
    parts.extend(event.backend.clone());
    let list = |name: &str, many: &str, of: fn(&Event) -> Option<u64>| {
        let mut all: Vec<u64> = group.iter().filter_map(|event| of(event)).collect();
        all.sort_unstable();
        all.dedup();
        let shown: Vec<String> = all.iter().take(8).map(u64::to_string).collect();
        let more = if all.len() > shown.len() { ", …" } else { "" };
        (!all.is_empty()).then(|| format!("{} {}{more}", if all.len() == 1 { name } else { many }, shown.join(", ")))
    };
    parts.extend(list("rank", "ranks", |event| event.rank));
    parts.extend(list("device", "devices", |event| event.device));
    parts.extend(list("pid", "pids", |event| event.pid));
    parts.extend(event.victim.clone());
    parts.extend(event.job.as_ref().map(|job| format!("job {job}")));
    parts.extend(event.host.clone());
    parts.join(" · ")
}

/// One line for each step to take.
pub(crate) fn advice_lines(event: &Event) -> impl Iterator<Item = String> {
    event.advice.iter().map(|advice| {
        let mut line = advice.what.clone();
        if let Some(saving) = advice.saving {
            line.push_str(&format!("; saves {saving}"));
        }
        if advice.fits == Some(true) {
            line.push_str("; that is enough by the estimate");
        }
        match advice.rung {
            Some(rung) => line.push_str(&format!(" [rung {rung}, {}]", advice.class.title())),
            None if advice.class != Effect::KeepsTheMath => line.push_str(&format!(" [{}]", advice.class.title())),
            None => {}
        }
        line
    })
}

fn advice(event: &Event, most: usize, screen: &Screen) -> String {
    let mut text = String::new();
    if event.advice.is_empty() {
        return text;
    }
    text.push_str(&format!(" {}\n", styled("what to do", screen.palette.heading)));
    // Advice whose estimated saving suffices ends the list.
    let estimated = event.advice.iter().any(|advice| advice.fits.is_some());
    let shown = if estimated { event.advice.len() } else { most.min(event.advice.len()) };
    for (index, line) in advice_lines(event).take(shown).enumerate() {
        text.push_str(&labelled(&format!("{:>2}", index + 1), screen.palette.good, &line, 4, screen));
    }
    let more = event.advice.len() - shown;
    if more > 0 {
        let line = format!("{more} more with --all-advice");
        text.push_str(&format!("    {}\n", styled(&line, screen.palette.dim)));
    }
    text
}

pub(crate) fn numbers(numbers: &Numbers) -> String {
    let all = [
        ("tried", numbers.tried),
        ("capacity", numbers.capacity),
        ("free", numbers.free),
        ("allowed", numbers.allowed),
        ("allocated", numbers.allocated),
        ("reserved", numbers.reserved),
        ("unallocated", numbers.unallocated),
        ("private pools", numbers.private_pools),
        ("this process", numbers.this_process),
        ("others", numbers.other_processes),
    ];
    let known = all.into_iter().filter_map(|(name, size)| Some(format!("{name} {}", size?)));
    known.collect::<Vec<_>>().join(" · ")
}

fn dismissed(findings: &Findings, screen: &Screen) -> String {
    let mut text = String::new();
    for dismissal in findings.dismissed.iter().take(DISMISSED) {
        let evidence = &dismissal.evidence;
        let line = format!("{}:{}: {}", evidence.file, evidence.line, evidence.text);
        let reason = cut(&clean(&dismissal.reason), screen.width() - 4);
        text.push_str(&format!(
            " – {}\n   {}\n",
            styled(&reason, screen.palette.dim),
            cut(&clean(&line), screen.width() - 3)
        ));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The inputs that were read.
fn inputs(findings: &Findings) -> String {
    let lines: u64 = findings.inputs.iter().map(|input| input.lines.unwrap_or(0)).sum();
    match &findings.inputs[..] {
        [input] if input.form == Form::Record => "a record".to_owned(),
        [input] if input.form == Form::Snapshot => "a snapshot".to_owned(),
        inputs => {
            format!("{} of {}", counted(lines as usize, "line", "lines"), counted(inputs.len(), "input", "inputs"))
        }
    }
}

fn closing(findings: &Findings, code: u8, screen: &Screen) -> String {
    let palette = &screen.palette;
    let read = inputs(findings);
    let (word, meaning, style) = match (findings.kind, findings.verdict) {
        (Kind::Report, verdict) if verdict != Verdict::ReportOnly => {
            let style = if verdict == Verdict::CacheNotLeak { palette.good } else { palette.warn };
            ("NO OOM", format!("{verdict}, and no memory event, in {read} (exit {code})"), style)
        }
        (Kind::None | Kind::Report, _) => ("NO OOM", format!("no memory event in {read} (exit {code})"), palette.good),
        (_, Verdict::Mixed) => ("OOM", format!("several equally likely causes in {read} (exit {code})"), palette.bad),
        (_, verdict) => {
            let failures = findings.events.iter().filter(|event| event.kind != Kind::Report).count();
            let events = counted(failures, "event", "events");
            ("OOM", format!("{verdict}: {events} in {read} (exit {code})"), palette.bad)
        }
    };
    labelled(word, style, &meaning, width(word) + 2, screen)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::Palette;
    use plimsoll_diagnose::Analysis;

    fn shown(name: &str, width: usize) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose/logs").join(name).with_extension("log");
        let mut analysis = Analysis::default();
        analysis.begin("train.log");
        analysis.push(&fs::read(path).unwrap());
        analysis.end();
        let findings = analysis.findings(None);
        super::findings(&findings, u8::from(findings.failed()), &Screen::new(width, Palette::plain()))
    }

    #[test]
    fn logs_as_a_user_sees_them() {
        for name in [
            "cuda_backward",
            "cuda_capacty_fragmented_backward",
            "cuda_other_process",
            "cuda_four_ranks_then_torchelastic",
            "cuda_eval",
            "kernel_memcg_block",
            "slurm_20",
            "killed_torchelastic",
            "shm_bus_error",
            "not_denied",
            "report_nemo_leak",
            "report_nemo_levels_off",
            "report_memory_summary",
        ] {
            assert_snapshot(&format!("terminal_findings_{name}"), &shown(name, 110));
        }
        assert_snapshot("terminal_findings_narrow", &shown("cuda_other_process", 60));
    }
}
