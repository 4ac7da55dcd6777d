//! A record on the terminal.

use std::fmt::Write;
use std::path::Path;

use super::capture;
use super::cost::cost;
use super::findings::of_run;
use super::judged::verdict_mark;
use super::memory::memory;
use super::parts::parts;
use super::runs::runs;
use super::worst::ROWS;
use crate::record::{Environment, Record, Semantics, Shard, TimedBeside};
use crate::report::outcome::{Outcome, findings, state_words, worst_findings};
use crate::report::parts::Parts;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{LABEL, clean, counted, cut, duration, labelled, short, styled, width};

/// Writes `record`, which was saved to `path` if given.
///
/// The document has: what was run; for a capture one row per entry and the failures again with causes; memory by phase;
/// proofs of released memory; batches; verdicts; the diagnosis of a command; and a closing line that explains the exit
/// code.
pub fn record(record: &Record, path: Option<&Path>, screen: &Screen) -> String {
    let mut text = header(record, screen);
    if let Semantics::Capture(semantics) = &record.semantics {
        text.push_str(&capture::results(semantics, record, screen));
    }
    if !record.phases.is_empty() {
        text.push('\n');
        text.push_str(&memory(&record.phases, screen));
    }
    if let Semantics::Command(_) = &record.semantics {
        text.push_str(&cost(record, screen));
    }
    if !record.runs.is_empty() {
        text.push('\n');
        text.push_str(&runs(&record.runs, screen));
    }
    if let Some(all) = Parts::of(record) {
        text.push('\n');
        text.push_str(&parts(&all, screen));
    }
    text.push_str(&capture::policy(record, screen));
    text.push('\n');
    text.push_str(&judgements(record, screen));
    if let Some(diagnosis) = &record.diagnosis {
        text.push('\n');
        text.push_str(&of_run(diagnosis, screen));
    }
    text.push_str(&closing(record, path, screen));
    text
}

/// Writes one line per verdict, and how many there are beside the worst.
pub(super) fn judgements(record: &Record, screen: &Screen) -> String {
    let mut text = String::new();
    let (findings, more) = worst_findings(findings(record), ROWS);
    for finding in findings {
        let (mark, style) = verdict_mark(finding.status, &screen.palette);
        // On a narrow screen the message gets more room than the subject.
        let columns = 24.min(screen.width() * 2 / 5);
        text.push_str(&labelled(
            &format!("{mark} {}", clean(&finding.subject)),
            style,
            &finding.message,
            columns,
            screen,
        ));
    }
    if more > 0 {
        let line = format!("… and {more} more verdicts; the record has them all");
        let _ = writeln!(text, " {}", styled(&cut(&line, screen.width() - 1), screen.palette.dim));
    }
    text
}

fn header(record: &Record, screen: &Screen) -> String {
    let mut text = String::new();
    let title = format!("plimsoll {}", clean(record.command.get(1).map_or("", String::as_str)));
    let _ = writeln!(
        text,
        " {}  {}",
        styled(title.trim_end(), screen.palette.heading),
        cut(&clean(record.semantics.subject()), screen.width().saturating_sub(width(&title) + 3))
    );
    let line = |label: &str, value: &str| labelled(label, screen.palette.dim, value, LABEL, screen);
    let digest = short(&record.semantics_digest);
    match &record.semantics {
        Semantics::Capture(semantics) => {
            text.push_str(&capture::header(semantics, record.policy.capture(), screen));
            text.push_str(&line("semantics", &format!("{digest}, over {}", capture::coverage(semantics))));
        }
        Semantics::Test(test) => {
            let place = [&test.package, &test.suite].into_iter().flatten().cloned().collect::<Vec<_>>();
            if !place.is_empty() {
                text.push_str(&line("suite", &place.join(" ")));
            }
            text.push_str(&line("semantics", &digest));
        }
        Semantics::Command(command) => {
            text.push_str(&line("command", &words(&command.command)));
            text.push_str(&line("semantics", &digest));
        }
    }
    if let Some(shard) = &record.shard {
        text.push_str(&line("shard", &shard_words(shard)));
    }
    if let Some(rank) = &record.rank {
        text.push_str(&line("rank", &format!("{} of {} ({})", rank.rank, rank.ranks, clean(&rank.launcher))));
    }
    text.push_str(&line("machine", &machine(&record.environment)));
    text
}

/// The share of entries that a run took, and what ran during its timed launches.
fn shard_words(shard: &Shard) -> String {
    let capture = &shard.capture;
    let beside = match shard.timing {
        Some(TimedBeside::Shared) => {
            "; timed while other shards ran on the node: its times are not those of a kernel that has the machine to itself"
        }
        Some(TimedBeside::InTurns) => "; timed in turns with the other shards of the node",
        Some(TimedBeside::Alone) | None => "",
    };
    let (entries, of) = (shard.places.len(), counted(capture.entries, "entry", "entries"));
    format!("{} of {}: {entries} of {of}, {} of {}{beside}", shard.index, shard.count, shard.bytes, capture.bytes)
}

/// The most words and characters of a command line that are shown: a screen's.
const SHOWN: usize = 2000;

/// A command line, with quotes where a shell would need them.
pub(crate) fn words(command: &[String]) -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,@%+".contains(c));
    let quoted = command.iter().map(|word| if plain(word) { word.clone() } else { format!("{word:?}") });
    let line = quoted.take(SHOWN).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None if command.len() > SHOWN => format!("{line} …"),
        None => line,
    }
}

/// The machine on one line.
pub(crate) fn machine(environment: &Environment) -> String {
    let mut parts = Vec::new();
    if let Some(system) = &environment.system {
        let cpu = system.cpu.as_ref().unwrap_or(&system.architecture);
        parts.push(system.cpus.map_or(cpu.clone(), |count| format!("{cpu} x {count}")));
        parts.push(format!("{} RAM", system.memory));
        let limit = system.cgroup.and_then(|cgroup| cgroup.memory);
        parts.extend(limit.map(|limit| format!("{limit} in its cgroup")));
        parts.push(system.kernel.clone());
    }
    parts.extend(environment.gpus.iter().map(|gpu| gpu.name.clone()));
    parts.extend(environment.versions.iter().map(|(name, version)| format!("{name} {version}")));
    if parts.is_empty() { "unknown".to_owned() } else { parts.join(", ") }
}

pub(super) fn closing(record: &Record, path: Option<&Path>, screen: &Screen) -> String {
    let palette = &screen.palette;
    let outcome = Outcome::of(record);
    let style = palette.tone(outcome.tone);
    let (word, state) = (outcome.word, state_words(record.state));
    let took = duration(record.wall_ns as f64);
    let meaning = format!("{} (exit {}{state}, {took})", outcome.meaning, record.exit_code);
    let mut text = format!("\n{}", labelled(word, style, &meaning, width(word) + 2, screen));
    if let Some(path) = path {
        // The path is not cut, so that it can be copied.
        let _ = writeln!(text, " {}", styled(&clean(&format!("record in {}", path.display())), palette.dim));
    }
    text
}
