//! `ledger`: bytes per parameter by stage, measured beside expected.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use plimsoll::ByteSize;
use plimsoll::diagnose::ledger::{self, MemoryKind, Reading, Stage, Stages};
use plimsoll::diagnose::telemetry::{Position, Reader, Sample};
use plimsoll::estimate::config::Settings;
use plimsoll::estimate::{Count, EstimateError, Offload};
use plimsoll::meter::{Metric, TimelinePoint, worst_reading};
use plimsoll::record::Record;
use plimsoll::report::terminal;

use super::model::ModelFlags;
use super::{Failed, output};

/// Longer lines are cut.
const LONGEST_LINE: u64 = 64 << 10;

/// The most samples of a log that are accounted.
const MOST_SAMPLES: usize = 100_000;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 as expected; 1 there is an excess, or the host grows; 2 bad usage or unreadable input."
)]
pub struct Ledger {
    /// A log, `-` for stdin, a record with phases, or STAGE=RECORD.json
    ///
    /// The phases of a record of `run` name the stages; STAGE=RECORD.json takes its peak RSS.
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,

    #[command(flatten)]
    pub model: ModelFlags,

    /// A reading, STAGE=BYTES, in the order of training; may be repeated
    ///
    /// Stages: start, init, forward, backward, step1 or later.
    #[arg(long = "reading", value_name = "STAGE=BYTES", help_heading = "Readings")]
    pub readings: Vec<Reading>,
    /// Whose memory [default: device, or host if the optimizer is offloaded]
    #[arg(long, value_name = "PLACE", env = "PLIMSOLL_PLACE", help_heading = "Readings")]
    pub place: Option<PlaceName>,
    /// Project every excess to this number of parameters: 80e9
    #[arg(long, value_name = "N", env = "PLIMSOLL_AT", help_heading = "Output")]
    pub at: Option<Count>,
    /// Print the ledger as JSON
    #[arg(long, env = "PLIMSOLL_JSON", help_heading = "Output")]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PlaceName {
    /// Memory of the host
    Host,
    /// What tensors hold on one GPU
    Device,
}

/// Accounts; 1 if there is an excess, or if the log's trend is a bad one.
pub fn run(arguments: &Ledger) -> Result<u8, Failed> {
    let settings = arguments.model.settings()?;
    let (mut samples, mut readings, mut stated) = (Vec::new(), Vec::new(), None);
    for file in &arguments.files {
        match file.split_once('=').and_then(|(stage, path)| Some((stage.parse::<Stage>().ok()?, path))) {
            Some((stage, path)) => readings.push(of_record(stage, Path::new(path))?),
            None => match phases(Path::new(file)) {
                Some(found) => readings.extend(found),
                None => read(file, &mut samples, &mut stated)?,
            },
        }
    }
    let (model, setup) = match settings.clone().finish() {
        // A log may state it.
        Err(EstimateError::NoParameters) if stated.is_some() => Settings { parameters: stated, ..settings }.finish()?,
        Err(error @ EstimateError::NoParameters) => {
            return Err(format!("{error}; `plimsoll diagnose LOG` shows trends without it").into());
        }
        read => read?,
    };
    let place = match arguments.place {
        Some(PlaceName::Host) => MemoryKind::Host,
        Some(PlaceName::Device) => MemoryKind::Device,
        None if setup.offload == Offload::None => MemoryKind::Device,
        None => MemoryKind::Host,
    };
    let mut all = Reading::of_samples(&samples, place);
    all.extend(readings);
    all.extend(arguments.readings.iter().cloned());
    let found = ledger::Ledger::account(&model, &setup, place, all, &samples, arguments.at.map(|at| at.0))?;
    if arguments.json {
        output::json(&found)?;
    } else {
        output::text(&terminal::ledger(&found, &super::screen()))?;
    }
    Ok(u8::from(found.exceeds || found.verdict.is_some()))
}

/// The largest resident memory in a record.
fn of_record(stage: Stage, path: &Path) -> Result<Reading, Failed> {
    let record = Record::read(path)?;
    let peak = worst_reading(&record.phases, Metric::PeakRss).map(|(_, reading)| reading.bytes);
    let peak = peak.ok_or_else(|| format!("{}: no phase of the record has a peak_rss", path.display()))?;
    Ok(Reading::new(stage, path.display().to_string(), peak))
}

/// What each phase of a record retains at its end, if its name is that of a stage; `None` if `path` is not a record.
fn phases(path: &Path) -> Option<Vec<Reading>> {
    let record = path.extension().is_some_and(|extension| extension == "json").then(|| Record::read(path).ok())??;
    let start = record.phases.first().and_then(|phase| phase.at_start);
    let start = start.map(|start| Reading::new(Stage::Start, "the start of the record", start.rss));
    let mut stages = Stages::default();
    let mut readings: Vec<Reading> = start.into_iter().collect();
    if !readings.is_empty() {
        stages.begun();
    }
    for phase in &record.phases {
        let Some(stage) = stages.next(&phase.phase) else { continue };
        let began = phase.at_start.map_or(0, |start| start.rss.bytes());
        let held = phase.at_end.map(|end| end.rss).or_else(|| held_last(&phase.timeline, began));
        if let Some(bytes) = held {
            readings.push(Reading::new(stage, phase.phase.clone(), bytes));
        }
    }
    Some(readings)
}

/// Memory that stays the same for this time between two falls is held: objects are freed in less.
const PAUSE: Duration = Duration::from_millis(250);

/// What the last phase of a record held before the process began to end.
///
/// This phase ends with the process, and an interpreter frees its objects first: samples below what was held when the
/// phase began show that. What leads down to them are falls without a pause, although a busy machine may take few
/// samples, or stop the process on its way.
fn held_last(timeline: &[TimelinePoint], began: u64) -> Option<ByteSize> {
    let samples: Vec<u64> = timeline.iter().map(|point| point.rss.bytes()).collect();
    let kept = samples.iter().rposition(|bytes| *bytes >= began - began / 10)?;
    // The last samples are of an end as well if they are above: a large interpreter is not freed in one go.
    let end = timeline.get(kept + 1).unwrap_or(&timeline[kept]);
    // From each fall to the next one: the last sample, and how long it took.
    let mut levels: Vec<(usize, u64)> = Vec::new();
    let mut from = 0;
    for at in 1..=kept + 1 {
        let falls = at > kept || samples[at] < samples[at - 1] - samples[at - 1] / 200;
        if falls {
            let until = if at > kept { end.at_ns } else { timeline[at].at_ns };
            levels.push((at - 1, until.saturating_sub(timeline[from].at_ns)));
            from = at;
        }
    }
    let lasting = levels.iter().rfind(|(_, lasted)| u128::from(*lasted) >= PAUSE.as_nanos());
    let (last, _) = lasting.or_else(|| levels.iter().max_by_key(|(_, lasted)| *lasted))?;
    Some(ByteSize::new(samples[*last]))
}

/// Reads the telemetry of a log, and the most parameters that it states.
fn read(name: &str, samples: &mut Vec<Sample>, stated: &mut Option<u64>) -> Result<(), Failed> {
    let failed = |error: io::Error| format!("cannot read {name}: {error}");
    let mut input: Box<dyn BufRead> = match name {
        "-" => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(File::open(PathBuf::from(name)).map_err(failed)?)),
    };
    let (mut reader, mut line) = (Reader::default(), Vec::new());
    let mut position = Position { line: 1, offset: 0 };
    loop {
        line.clear();
        let taken = io::Read::take(&mut input, LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)?;
        if taken == 0 || samples.len() >= MOST_SAMPLES {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        reader.line(position, &text, samples);
        *stated = (*stated).max(ledger::stated_parameters(&text));
        position.offset += taken as u64;
        position.line += u64::from(line.ends_with(b"\n"));
    }
    reader.finish(samples);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a phase that began with 100 bytes held last, by samples of a time in milliseconds and bytes.
    fn held(samples: &[(u64, u64)]) -> u64 {
        let point = |&(at, rss): &(u64, u64)| TimelinePoint {
            at_ns: at * 1_000_000,
            rss: ByteSize::new(rss),
            ..TimelinePoint::default()
        };
        held_last(&samples.iter().map(point).collect::<Vec<_>>(), 100).unwrap().bytes()
    }

    #[test]
    fn what_was_held_last_is_no_step_on_the_way_down() {
        // Samples every 10 ms, with and without the end of the process in them.
        assert_eq!(held(&[(0, 100), (10, 400), (20, 200), (30, 200), (40, 200)]), 200);
        assert_eq!(held(&[(0, 100), (10, 400), (20, 200), (30, 200), (40, 150), (50, 120), (60, 10)]), 200);
        assert_eq!(held(&[(0, 100), (10, 400), (20, 400), (30, 120), (40, 10)]), 400);
        // Samples that are rare, because the machine is busy: one of 200 bytes, one on the way down, and a process that
        // is stopped on it.
        assert_eq!(held(&[(0, 100), (300, 400), (900, 200), (1500, 10)]), 200);
        assert_eq!(held(&[(0, 100), (60, 400), (120, 400), (180, 200), (240, 10)]), 400);
        assert_eq!(held(&[(0, 100), (100, 200), (200, 200), (300, 200), (360, 150), (420, 150), (480, 10)]), 200);
        assert_eq!(held(&[(0, 100)]), 100);
        // An end of which all samples are above what the phase began with.
        assert_eq!(held(&[(0, 100), (20, 392), (40, 356), (540, 356), (550, 229), (560, 210), (570, 180)]), 356);
        assert_eq!(held(&[(0, 30), (20, 140), (500, 140), (510, 60)]), 140);
    }
}
