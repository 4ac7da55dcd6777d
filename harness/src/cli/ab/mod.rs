//! `ab`: runs two commands in turns, so that drift of the machine affects both.

mod duet;

use clap::Args;
use plimsoll::gate::Limit;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use plimsoll::command::Repeats;
use plimsoll::gate::{GateReport, evaluate_pairs, fewest_pairs};
use plimsoll::random::SplitMix64;
use plimsoll::record::{Record, Semantics, write_record};
use plimsoll::report::terminal;

use self::duet::Halves;
use super::args::confidence;
use super::run::{Made, NotRun, Run, once, prepare, progress, record};
use super::settings::Settings;
use super::{Failed, output};
use crate::guardian;

#[derive(Args)]
#[command(
    after_help = "plimsoll ab --repeat 20 -- ./old --input x --vs ./new --input x: the two take turns, the first of each \
    pair drawn by lot, and the differences within pairs are judged, so that drift of the machine affects both. Their standard \
    output is discarded. Exit codes: 0 the second is no worse; 1 it is, broke a ceiling or failed; 2 bad usage; 3 undecided."
)]
// A single pair shows nothing.
#[command(mut_arg("repeat", |repeat| repeat.default_value("10")))]
pub struct Ab {
    /// By how much the second may be worse, such as '5% | 64 MiB'; may be repeated
    ///
    /// `peak_rss=..` is for figures whose name matches (`*` is any text), which are then judged alone; the last match
    /// counts. Default: 5% | 4 MiB on the memory of what was run.
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// The seed of the lots that decide which of a pair is first
    #[arg(long, value_name = "S", env = "PLIMSOLL_SEED", default_value_t = 0)]
    pub seed: u64,

    /// Stop once the interval of every figure is this narrow, such as 4%
    ///
    /// --repeat is then the most pairs.
    #[arg(long, value_name = "PERCENT", env = "PLIMSOLL_WIDTH", value_parser = width)]
    pub width: Option<f64>,

    /// Run both of a pair at once, each on cores of its own, to compare times
    ///
    /// What else the machine does then slows both alike. Judges the wall time too: --limit wall=5% if none is given.
    #[arg(long, env = "PLIMSOLL_DUET")]
    pub duet: bool,

    /// Keep the records of both in this folder, as a.json and b.json
    #[arg(long, value_name = "DIR", env = "PLIMSOLL_RECORDS")]
    pub records: Option<PathBuf>,

    #[command(flatten)]
    pub run: Run,
}

/// The exit code if the question cannot be decided.
const INCONCLUSIVE: u8 = 3;

/// Runs both commands in turns and compares the second with the first; 1 if the second is worse, 3 if undecided.
pub fn run(arguments: &Ab, settings: Option<&Settings>) -> Result<u8, Failed> {
    let [a, b] = sides(arguments)?;
    arguments.run.documents.check()?;
    if let Some(folder) = &arguments.records {
        // Check that the records can be written now, not after hours of work.
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let label = super::run::label(arguments.run.label.as_deref(), &arguments.run.command);
    let set = Settings::of(settings, Some(&label))?;
    let ceilings = arguments.run.ceilings.ceilings();
    let mut limits = arguments.limits.clone();
    if arguments.duet && limits.is_empty() {
        limits.push("wall=5%".parse()?);
    }
    let rules = super::gate::rules(&set, ceilings, &limits, arguments.confidence, Vec::new());
    let (pairs, fewest) = (arguments.run.repeat.get() as usize, fewest_pairs(rules.confidence));
    if pairs < fewest {
        return Err(format!(
            "{pairs} pairs of runs cannot distinguish the commands at a confidence of {}: write --repeat {fewest} or more",
            rules.confidence
        )
        .into());
    }
    let enough = |[a, b]: [&Record; 2], pairs: usize| {
        arguments.width.is_some_and(|width| pairs >= fewest && is_narrow(&evaluate_pairs("A", a, b, &rules), width))
    };
    let made = match arguments.duet {
        true => at_once([&a, &b], arguments.seed, &enough)?,
        false => match in_turns(&a, &b, arguments.seed, &enough) {
            Ok(made) => made.map(|[made_a, made_b]| [record(&a, made_a), record(&b, made_b)]),
            Err(error) => {
                let Some(code) = error.shell_exit_code() else { return Err(error.into()) };
                super::report_message(&error.to_string());
                return Ok(code);
            }
        },
    };
    let Some([a, b]) = made else {
        super::report_message("a signal came before each command had run, so there is nothing to compare");
        return Ok(INCONCLUSIVE);
    };
    if let Some(folder) = &arguments.records {
        for (name, record) in [("a.json", &a), ("b.json", &b)] {
            write_record(&folder.join(name), record)?;
        }
    }
    let report = evaluate_pairs(&format!("A: {}", words(&a)), &a, &b, &rules);
    if arguments.run.json {
        output::json(&report)?;
    } else {
        output::text(&terminal::gate(&report, &super::screen()))?;
    }
    arguments.run.documents.write_gate(&report, &[a, b])?;
    Ok(report.exit_code())
}

/// A width of intervals, in per cent.
fn width(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse() {
        Ok(width) if width > 0.0 && f64::is_finite(width) => Ok(width),
        _ => Err("a width is a percentage above 0, such as 4%".to_owned()),
    }
}

/// Whether the interval of every judged figure is at most `width` per cent of the earlier value. The width does not
/// depend on where the interval lies, so that stopping by width favours no verdict.
fn is_narrow(report: &GateReport, width: f64) -> bool {
    let mut figures = report.subjects.iter().flat_map(|subject| &subject.figures).peekable();
    figures.peek().is_some()
        && figures.all(|figure| {
            let comparison = figure.comparison.as_ref();
            let known = comparison.and_then(|one| Some((one.interval?, one.baseline?.median)));
            known.is_some_and(|(interval, before)| interval.high - interval.low <= before * width / 100.0)
        })
}

/// Whether there have been enough pairs, judged by the records so far.
type Enough<'a> = &'a dyn Fn([&Record; 2], usize) -> bool;

/// Runs both at once, once per pair; `None` if a signal came before each had a run.
fn at_once(sides: [&Run; 2], seed: u64, enough: Enough) -> Result<Option<[Record; 2]>, Failed> {
    let signals = guardian::guarded().map(|guarded| &guarded.signals);
    let halves = Halves::of_this_process()?;
    let folder = tempfile::tempdir()?;
    let mut lots = SplitMix64::new(seed);
    let mut records = [Vec::new(), Vec::new()];
    let (warmup, repeat) = (sides[0].warmup, sides[0].repeat.get());
    for number in 0..warmup.saturating_add(repeat) {
        progress("pair", number, sides[0]);
        // Both run at once, so one preparation serves both.
        prepare(sides[0], None)?;
        let pair = duet::at_once(sides, &halves, lots.coin(), folder.path())?;
        if signals.inspect(|signals| signals.note()).is_some_and(|signals| signals.ends() || signals.orphaned()) {
            break;
        }
        let failed = pair.iter().any(|record| record.exit_code != 0);
        if number >= warmup || failed {
            records.iter_mut().zip(pair).for_each(|(records, record)| records.push(record));
        }
        let pairs = records[0].len();
        if (failed && !sides[0].keep_going)
            || looks(pairs) && enough([&duet::together(records[0].clone()), &duet::together(records[1].clone())], pairs)
        {
            break;
        }
    }
    Ok((!records[0].is_empty()).then(|| records.map(duet::together)))
}

/// Whether to look at the figures after this many pairs: after each of the first few, then less and less often.
fn looks(pairs: usize) -> bool {
    pairs.is_multiple_of((pairs / 16).max(1))
}

/// The two commands, each with the arguments of a run.
fn sides(arguments: &Ab) -> Result<[Run; 2], Failed> {
    if arguments.run.record.is_some() {
        return Err("ab writes one record per command: name a folder for them with --records".into());
    }
    if arguments.run.diagnoses() {
        return Err(
            "--diagnose and --fail-on belong to `plimsoll run`: ab compares figures and does not read output".into()
        );
    }
    let words = &arguments.run.command;
    let between = words.iter().position(|word| word == "--vs").filter(|at| (1..words.len() - 1).contains(at));
    let between = between.ok_or("write both commands, with --vs between them: plimsoll ab -- CMD_A --vs CMD_B")?;
    let side = |command: &[OsString]| Run { command: command.to_vec(), ..arguments.run.clone() };
    Ok([side(&words[..between]), side(&words[between + 1..])])
}

/// Runs both, one pair after the other; a coin toss decides which command of a pair runs first. `None` if a signal came
/// before each had a run.
fn in_turns(a: &Run, b: &Run, seed: u64, enough: Enough) -> Result<Option<[Made; 2]>, NotRun> {
    let signals = guardian::guarded().map(|guarded| &guarded.signals);
    let (started, began) = (SystemTime::now(), Instant::now());
    let mut lots = SplitMix64::new(seed);
    let mut sides = [Side::default(), Side::default()];
    let mut interrupted = false;
    for number in 0..a.warmup.saturating_add(a.repeat.get()) {
        progress("pair", number, a);
        let mut pair = [None, None];
        for at in if lots.coin() { [0, 1] } else { [1, 0] } {
            let arguments = [a, b][at];
            let offset = began.elapsed();
            let ended = once(arguments, &arguments.ceilings.ceilings())?;
            pair[at] = Some((offset, ended));
            interrupted |=
                signals.inspect(|signals| signals.note()).is_some_and(|signals| signals.ends() || signals.orphaned());
            if interrupted {
                break;
            }
        }
        let [Some(one), Some(other)] = pair else { break };
        let failed = !(one.1.end.success() && other.1.end.success());
        // If a warm-up fails, report only that.
        if number >= a.warmup || failed {
            for (side, (offset, ended)) in sides.iter_mut().zip([one, other]) {
                side.wall += ended.wall;
                side.repeats.push(offset, ended);
            }
        }
        if interrupted || (failed && !a.keep_going) {
            break;
        }
        let so_far = |at: usize| {
            let Side { repeats, wall } = sides[at].clone();
            record([a, b][at], Made::new(repeats, started, wall))
        };
        let pairs = sides[0].repeats.runs().len();
        if pairs > 0 && looks(pairs) && enough([&so_far(0), &so_far(1)], pairs) {
            break;
        }
    }
    if sides.iter().any(|side| side.repeats.runs().len() == 0) {
        return Ok(None);
    }
    Ok(Some(sides.map(|side| Made { interrupted, ..Made::new(side.repeats, started, side.wall) })))
}

/// The runs of one command.
#[derive(Clone, Default)]
struct Side {
    repeats: Repeats,
    wall: Duration,
}

/// The command of a record, quoted for a shell.
fn words(record: &Record) -> String {
    let words = match &record.semantics {
        Semantics::Command(command) => &command.command[..],
        _ => &[],
    };
    words.iter().map(|word| super::quoted(word)).collect::<Vec<_>>().join(" ")
}
