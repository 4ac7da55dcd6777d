//! `diagnose`: what went wrong.

use clap::Args;
use plimsoll::ByteSize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll::diagnose::snapshot::{Options, Snapshot};
use plimsoll::diagnose::{Analysis, Change, DiagnoseError, Findings, Follower, Kind, KnownBatch, Verdict};
use plimsoll::estimate::{self, EstimateError, Ladder, Limits};
use plimsoll::report::terminal;

use super::model::ModelFlags;
use super::snapshot::SnapshotFlags;
use super::{Failed, USAGE, output, snapshot};

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing found; 1 a memory event, or what --fail-on names, was found; 2 an input could not be \
    read."
)]
pub struct Diagnose {
    /// Logs (plain or gzipped), records or memory snapshots; `-` for stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Watch the log as it grows, until interrupted; one file
    #[arg(long)]
    pub follow: bool,

    #[command(flatten)]
    pub snapshot: SnapshotFlags,

    #[command(flatten)]
    pub model: ModelFlags,
    /// The memory of each GPU, such as 80GiB [default: what the log says]
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_VRAM", help_heading = "Model")]
    pub vram: Option<ByteSize>,

    /// Exit with 1 if one of these was found as well, such as `leak,cache-not-leak`
    #[arg(long, value_name = "VERDICT,..", env = "PLIMSOLL_FAIL_ON", value_delimiter = ',', conflicts_with = "follow")]
    pub fail_on: Vec<Verdict>,

    /// Show all advice instead of the three best
    #[arg(long, env = "PLIMSOLL_ALL_ADVICE")]
    pub all_advice: bool,

    /// Print the findings as JSON; with --follow a line an event
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// The time between two looks at a followed log.
const LOOK: Duration = Duration::from_millis(250);

/// Prints the findings: 0 if there is no event, 1 if there is one, 2 if an input could not be read.
pub fn run(diagnose: &Diagnose) -> Result<u8, Failed> {
    if diagnose.follow {
        return match &diagnose.files[..] {
            [file] if file.as_os_str() != "-" => follow(file, diagnose),
            _ => Err("--follow takes one file that is not standard input".into()),
        };
    }
    let mut analysis = Analysis::default();
    know_batch(diagnose, &mut analysis)?;
    let (mut failures, mut snapshots) = (Vec::new(), Vec::new());
    for file in &diagnose.files {
        match read(file, &mut analysis) {
            Ok(snapshot) => snapshots.extend(snapshot),
            Err(error) => failures.push(error),
        }
    }
    snapshot::run(&mut snapshots, &diagnose.snapshot, &mut analysis)?;
    let findings = analysis.findings(ladder(diagnose, &analysis)?.as_ref());
    let code = u8::from(findings.failed() || findings.any_of(&diagnose.fail_on).is_some());
    if diagnose.json {
        output::json(&findings)?;
    } else if failures.len() < diagnose.files.len() || !findings.events.is_empty() {
        output::text(&text(&findings, code, diagnose))?;
        output::text(&snapshot::text(&findings))?;
    }
    failures.iter().for_each(|error| super::report(error));
    Ok(if failures.is_empty() { code } else { USAGE })
}

/// Gives the analysis the batch of the flags and configurations, and what they have applied already.
fn know_batch(diagnose: &Diagnose, analysis: &mut Analysis) -> Result<(), Failed> {
    let settings = diagnose.model.settings()?;
    let world = match (settings.gpus, settings.nodes) {
        (None, None) => None,
        (gpus, nodes) => Some(gpus.unwrap_or(1).saturating_mul(nodes.unwrap_or(1))),
    };
    analysis.know_applied(settings.applied());
    analysis.know_batch(KnownBatch { micro: settings.batch, accumulation: settings.accumulation, world });
    settings.unread.iter().for_each(|unread| output::note(&format!("not counted: {unread}")));
    Ok(())
}

/// The ladder of the model in the flags, for a device of `--vram` or of the first message that names a capacity.
fn ladder(diagnose: &Diagnose, analysis: &Analysis) -> Result<Option<Ladder>, Failed> {
    if !diagnose.model.is_given() {
        return Ok(None);
    }
    let (model, setup) = match diagnose.model.read() {
        // A training configuration alone: its batch is known, the model is not.
        Err(EstimateError::NoParameters) if !diagnose.model.describes() => return Ok(None),
        read => read?,
    };
    let reported = || {
        let events = analysis.findings(None).events;
        events.iter().filter(|event| event.kind == Kind::VramOom).find_map(|event| event.numbers.capacity)
    };
    let limits = Limits { vram: diagnose.vram.or_else(reported), ram: None };
    Ok(Some(estimate::ladder(&model, &setup, &limits)?))
}

/// The findings as text.
fn text(findings: &Findings, code: u8, diagnose: &Diagnose) -> String {
    match diagnose.all_advice {
        true => terminal::findings_with_all_advice(findings, code, &super::screen()),
        false => terminal::findings(findings, code, &super::screen()),
    }
}

/// Reads an input; returns it if it is a snapshot.
fn read(file: &Path, analysis: &mut Analysis) -> Result<Option<Snapshot>, DiagnoseError> {
    let name = file.display().to_string();
    let rest = if file.as_os_str() == "-" {
        plimsoll::diagnose::read(analysis, &name, io::stdin().lock())?
    } else {
        match File::open(file) {
            Ok(opened) => plimsoll::diagnose::read(analysis, &name, opened)?,
            Err(source) => {
                let error = DiagnoseError::Io { name: name.clone(), source };
                analysis.begin(&name);
                analysis.fail(error.to_string());
                return Err(error);
            }
        }
    };
    let Some(reader) = rest else { return Ok(None) };
    let read = Snapshot::read(&name, reader, Options::default())
        .and_then(|mut snapshot| snapshot.findings().map(|findings| (snapshot, findings)));
    match read {
        Ok((snapshot, findings)) => {
            analysis.add_snapshot(findings);
            Ok(Some(snapshot))
        }
        Err(error) => {
            analysis.fail(error.to_string());
            Err(error.into())
        }
    }
}

/// Prints each event once it is complete, until interrupted.
fn follow(file: &Path, diagnose: &Diagnose) -> Result<u8, Failed> {
    let mut analysis = Analysis::default();
    know_batch(diagnose, &mut analysis)?;
    let mut follower = Follower::open(file, &mut analysis)?;
    let (mut shown, mut said) = (BTreeSet::new(), None);
    loop {
        // If a log has not grown since the last look, its messages are complete.
        if follower.look(&mut analysis)? == Change::None {
            let mut findings = analysis.findings(ladder(diagnose, &analysis)?.as_ref());
            findings.events.retain(|event| {
                let first = event.evidence.iter().min_by_key(|evidence| evidence.offset);
                let first = first.map(|first| (first.offset, first.text.clone()));
                match event.kind {
                    // Print a finding of telemetry again once it has changed.
                    Kind::Report => {
                        event.verdict != Verdict::ReportOnly && said.replace(event.verdict) != Some(event.verdict)
                    }
                    _ => shown.insert((first, event.rank, event.pid)),
                }
            });
            if diagnose.json {
                for event in &findings.events {
                    output::verbatim(&format!("{}\n", serde_json::to_string(event)?))?;
                }
            } else if !findings.events.is_empty() {
                output::text(&text(&findings, u8::from(findings.failed()), diagnose))?;
            }
        }
        std::thread::sleep(LOOK);
    }
}
