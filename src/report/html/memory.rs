//! The memory of a run in figures: phases, the largest processes, what grew, what it cost, and what was released.

use std::fmt::Write;

use super::meaning::SIGNS;
use super::{Body, absent, axis, escaped, table};
use crate::record::Record;
use crate::report::page::bar;
use crate::report::terminal::{counted, duration};
use plimsoll_memory::meter::{ActivityScope, CpuSource, Metric, NOT_ASKED_FOR, PhaseReadings, ProcessPeak};

/// Maximum number of processes of a phase shown at once; the others are folded below.
const PROCESSES: usize = 12;

/// Writes every reading of every phase.
pub(super) fn phases(out: &mut Body, record: &Record) {
    let known = |metric: &Metric| record.phases.iter().any(|phase| phase.readings.contains_key(metric));
    let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(known).collect();
    if metrics.is_empty() {
        return;
    }
    let of = if record.runs.is_empty() { "" } else { " of the largest run" };
    let _ = writeln!(out, "<h2>Memory by phase{of} {SIGNS}</h2>");
    let columns: Vec<_> = [table::words("phase"), table::figures("time")]
        .into_iter()
        .chain(metrics.iter().map(|metric| table::figures(metric.name())))
        .collect();
    let rows = record.phases.iter().map(|phase| {
        let figures = metrics.iter().map(|metric| match phase.readings.get(metric) {
            Some(reading) => table::reading(reading),
            None => unread(phase, *metric),
        });
        [escaped(&phase.phase), duration(phase.wall_ns as f64)].into_iter().chain(figures).collect()
    });
    table::table(out, &columns, rows);
}

/// Why a figure is missing, shown under the pointer.
fn unread(phase: &PhaseReadings, metric: Metric) -> String {
    match phase.unavailable.get(&metric) {
        Some(why) => format!("<span class=\"soft\" title=\"{}\">n/a</span>", escaped(why)),
        None => absent(),
    }
}

/// Writes the metrics that were requested but could not be read.
pub(super) fn unavailable(out: &mut Body, record: &Record) {
    let reasons = record.phases.iter().flat_map(|phase| {
        phase.unavailable.iter().filter(|(_, why)| *why != NOT_ASKED_FOR).map(move |(metric, why)| (metric, phase, why))
    });
    let rows: Vec<Vec<String>> = reasons
        .map(|(metric, phase, why)| vec![metric.name().to_owned(), escaped(&phase.phase), escaped(why)])
        .collect();
    if !rows.is_empty() {
        let _ =
            writeln!(out, "<details><summary>{} not read</summary>", counted(rows.len(), "figure was", "figures were"));
        table::table(out, &[table::words("figure"), table::words("phase"), table::words("why")], rows);
        out.push_str("</details>\n");
    }
}

/// Draws the largest processes of each phase as bars on one scale.
pub(super) fn processes(out: &mut Body, record: &Record) {
    let phases: Vec<&PhaseReadings> = record.phases.iter().filter(|phase| !phase.processes.is_empty()).collect();
    let most = phases.iter().flat_map(|phase| &phase.processes).map(|process| process.peak_rss.bytes.bytes()).max();
    let Some(most) = most.map(|most| most.max(1)) else { return };
    out.push_str("<h2>Largest processes <small>the peak of each, which need not have been at one instant</small></h2>\n<div class=\"fleet\">\n");
    for phase in phases {
        let _ = writeln!(out, "<section class=\"panel\"><h3>{}</h3>", escaped(&phase.phase));
        let (shown, rest) = phase.processes.split_at(phase.processes.len().min(PROCESSES));
        bars(out, shown, most);
        if !rest.is_empty() {
            let _ =
                writeln!(out, "<details><summary>{}</summary>", counted(rest.len(), "more process", "more processes"));
            bars(out, rest, most);
            out.push_str("</details>\n");
        }
        out.push_str("</section>\n");
    }
    out.push_str("</div>\n");
}

fn bars(out: &mut Body, processes: &[ProcessPeak], most: u64) {
    out.push_str("<ol class=\"bars\">\n");
    for process in processes {
        let share = |bytes: u64| bytes as f64 / most as f64;
        let mut parts = vec![("rss", share(process.peak_rss.bytes.bytes()))];
        parts.extend(process.peak_anon.as_ref().map(|anon| ("anon", share(anon.bytes.bytes()))));
        let anon_words = process
            .peak_anon
            .as_ref()
            .map_or(String::new(), |anon| format!("<small>{} anon</small> ", axis::amount(anon.bytes.bytes())));
        let _ = writeln!(
            out,
            "<li><span class=\"name\">{} <small>{}</small></span><span class=\"figure\">{anon_words}<b>{}</b></span>\
             {}</li>",
            escaped(&process.name),
            process.pid,
            table::reading(&process.peak_rss),
            bar(&parts),
        );
    }
    out.push_str("</ol>\n");
}

/// Writes faults, processor time, stalls and kills of each phase.
pub(super) fn activity(out: &mut Body, record: &Record) {
    let any = record.phases.iter().any(|phase| {
        let activity = &phase.activity;
        activity.minor_faults.is_some() || activity.some_stall_us.is_some() || activity.oom_kills.is_some()
    });
    if !any {
        return;
    }
    out.push_str("<h2>What it cost</h2>\n");
    let columns =
        ["CPU, user", "CPU, kernel", "minor faults", "major faults", "some stalled", "all stalled", "OOM kills"];
    let columns: Vec<_> = [table::words("phase")].into_iter().chain(columns.map(table::figures)).collect();
    let count = |n: Option<u64>| n.map_or_else(absent, grouped);
    let time = |ns: Option<u64>| ns.map_or_else(absent, |ns| duration(ns as f64));
    let of = |scope| match scope {
        ActivityScope::System => "of the whole system",
        ActivityScope::Cgroup => "of the control group",
    };
    let rows = record.phases.iter().map(|phase| {
        let activity = &phase.activity;
        let cpu = |ns| {
            let source = match activity.cpu_source {
                CpuSource::Tick => "to the tick of 10 ms",
                CpuSource::Reaped => "exact, from the kernel when the tree was reaped",
            };
            format!("<span title=\"{source}\">{}</span>", time(ns))
        };
        let stall = |us: Option<u64>| {
            let words = time(us.map(|us| us.saturating_mul(1000)));
            format!("<span title=\"{}\">{words}</span>", of(activity.stalls_of))
        };
        vec![
            escaped(&phase.phase),
            cpu(activity.cpu_user_ns),
            cpu(activity.cpu_system_ns),
            count(activity.minor_faults),
            count(activity.major_faults),
            stall(activity.some_stall_us),
            stall(activity.full_stall_us),
            format!("<span title=\"{}\">{}</span>", of(activity.oom_kills_of), count(activity.oom_kills)),
        ]
    });
    table::table(out, &columns, rows);
}

/// A count with its digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("\u{202f}")
}

/// Writes the mappings that grew most.
pub(super) fn mappings(out: &mut Body, record: &Record) {
    let rows: Vec<Vec<String>> = record
        .phases
        .iter()
        .flat_map(|phase| phase.mappings.iter().map(move |mapping| (phase, mapping)))
        .map(|(phase, mapping)| {
            let growth = mapping.after.saturating_sub(mapping.before);
            vec![
                escaped(&phase.phase),
                escaped(&mapping.name),
                mapping.kind.label().to_owned(),
                mapping.before.to_string(),
                mapping.after.to_string(),
                format!("+{growth}"),
            ]
        })
        .collect();
    if !rows.is_empty() {
        out.push_str("<h2>Mappings that grew most</h2>\n");
        let columns = [
            table::words("phase"),
            table::words("mapping"),
            table::words("kind"),
            table::figures("before"),
            table::figures("at the peak"),
            table::figures("growth"),
        ];
        table::table(out, &columns, rows);
    }
}

/// Writes the proofs that workers gave their memory back.
pub(super) fn releases(out: &mut Body, record: &Record) {
    if record.releases.is_empty() {
        return;
    }
    out.push_str("<h2>Memory that came back</h2>\n");
    let bytes = |bytes: Option<plimsoll_memory::ByteSize>| bytes.map_or_else(absent, |bytes| bytes.to_string());
    let rows = record.releases.iter().map(|release| {
        let proof = &release.proof;
        let (class, word) = match (proof.gone, proof.recovered) {
            (true, Some(true)) => ("good", "✓ gone, memory back"),
            (true, Some(false)) => ("warn", "? gone, memory not back"),
            (true, None) => ("warn", "? gone, memory not known"),
            (false, _) => ("bad", "✗ still there"),
        };
        vec![
            format!("worker {} <small class=\"soft\">{}</small>", release.worker, release.pid),
            format!("<b class=\"{class}\">{word}</b>"),
            duration(proof.waited_ns as f64),
            bytes(proof.worker_rss_at_end),
            bytes(proof.available_at_end),
            bytes(proof.available_after),
        ]
    });
    let columns = [
        table::words("worker"),
        table::words("proof"),
        table::figures("waited"),
        table::figures("RSS at its end"),
        table::figures("available at its end"),
        table::figures("available after"),
    ];
    table::table(out, &columns, rows);
}
