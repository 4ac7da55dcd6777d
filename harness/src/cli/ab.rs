//! `ab`: two commands in turns, so that a machine that drifts moves both.

use clap::Args;
use plimsoll::gate::Limit;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use plimsoll::command::{CommandError, Repeats};
use plimsoll::gate::{evaluate_pairs, fewest_pairs};
use plimsoll::random::SplitMix64;
use plimsoll::record::{Record, Semantics, write_record};
use plimsoll::report::terminal;

use super::args::confidence;
use super::run::{Made, Run, once, progress, record};
use super::settings::Settings;
use super::{Failed, output};
use crate::guardian;

#[derive(Args)]
#[command(
    after_help = "plimsoll ab --repeat 20 -- ./old --input x --vs ./new --input x: the two take turns, the first of each \
    pair drawn by lot, and the differences within pairs are judged, so that a machine that drifts moves both. Their standard \
    output is left away. Exit codes: 0 the second is no worse; 1 it is, broke a ceiling or failed; 2 bad usage; 3 it cannot \
    be told."
)]
// One run of each of a pair says nothing.
#[command(mut_arg("repeat", |repeat| repeat.default_value("10")))]
pub struct Ab {
    /// What the second may be worse by, such as '5% | 64 MiB'; may be repeated
    ///
    /// `peak_rss=..` is for figures whose name matches (`*` is any text), which are then judged alone; the last match
    /// counts. Default: 5% | 4 MiB on the memory of what was run.
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// The seed of the lots that tell which of a pair is first
    #[arg(long, value_name = "S", env = "PLIMSOLL_SEED", default_value_t = 0)]
    pub seed: u64,

    /// Keep the records of both in this folder, as a.json and b.json
    #[arg(long, value_name = "DIR", env = "PLIMSOLL_RECORDS")]
    pub records: Option<PathBuf>,

    #[command(flatten)]
    pub run: Run,
}

/// The exit code if nothing can be known.
const INCONCLUSIVE: u8 = 3;

/// Runs both commands in turns and judges the second by the first; 1 if it is worse, 3 if that cannot be decided.
pub fn run(arguments: &Ab, settings: Option<&Settings>) -> Result<u8, Failed> {
    let [a, b] = sides(arguments)?;
    arguments.run.documents.check()?;
    if let Some(folder) = &arguments.records {
        // The place of the records is tried before hours of work, not after.
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let label = super::run::label(arguments.run.label.as_deref(), &arguments.run.command);
    let set = Settings::of(settings, Some(&label))?;
    let ceilings = arguments.run.ceilings.ceilings();
    let rules = super::gate::rules(&set, ceilings, &arguments.limits, arguments.confidence, Vec::new());
    let (pairs, fewest) = (arguments.run.repeat.get() as usize, fewest_pairs(rules.confidence));
    if pairs < fewest {
        return Err(format!(
            "{pairs} pairs of runs cannot tell the commands apart at a confidence of {}: write --repeat {fewest} or more",
            rules.confidence
        )
        .into());
    }
    let made = match in_turns(&a, &b, arguments.seed) {
        Ok(made) => made,
        Err(error) => {
            let Some(code) = error.shell_exit_code() else { return Err(error.into()) };
            super::report_message(&error.to_string());
            return Ok(code);
        }
    };
    let Some([made_a, made_b]) = made else {
        super::report_message("a signal came before each command had run: there is nothing to compare");
        return Ok(INCONCLUSIVE);
    };
    let (a, b) = (record(&a, made_a), record(&b, made_b));
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

/// The two commands, each with the arguments of a run.
fn sides(arguments: &Ab) -> Result<[Run; 2], Failed> {
    if arguments.run.record.is_some() {
        return Err("ab has a record of each command: name a folder for them with --records".into());
    }
    if arguments.run.diagnoses() {
        return Err("--diagnose and --fail-on are of `plimsoll run`: ab compares figures, and reads no output".into());
    }
    let words = &arguments.run.command;
    let between = words.iter().position(|word| word == "--vs").filter(|at| (1..words.len() - 1).contains(at));
    let between = between.ok_or("write both commands, with --vs between them: plimsoll ab -- CMD_A --vs CMD_B")?;
    let side = |command: &[OsString]| Run { command: command.to_vec(), ..arguments.run.clone() };
    Ok([side(&words[..between]), side(&words[between + 1..])])
}

/// Runs both as often as they are to be run, a pair after the other, the first of each pair drawn by lot. `None` if a
/// signal came before each had a run.
fn in_turns(a: &Run, b: &Run, seed: u64) -> Result<Option<[Made; 2]>, CommandError> {
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
            let ended = once(arguments, &arguments.ceilings.ceilings(), Stdio::null())?;
            pair[at] = Some((offset, ended));
            interrupted |=
                signals.inspect(|signals| signals.note()).is_some_and(|signals| signals.ends() || signals.orphaned());
            if interrupted {
                break;
            }
        }
        let [Some(one), Some(other)] = pair else { break };
        let failed = !(one.1.end.success() && other.1.end.success());
        // A warm-up that fails is all that there is to tell.
        if number >= a.warmup || failed {
            for (side, (offset, ended)) in sides.iter_mut().zip([one, other]) {
                side.wall += ended.wall;
                side.repeats.push(offset, ended);
            }
        }
        if interrupted || (failed && !a.keep_going) {
            break;
        }
    }
    if sides.iter().any(|side| side.repeats.runs().len() == 0) {
        return Ok(None);
    }
    Ok(Some(sides.map(|side| Made { repeats: side.repeats, started, wall: side.wall, interrupted, orphaned: false })))
}

/// The runs of one command.
#[derive(Default)]
struct Side {
    repeats: Repeats,
    wall: Duration,
}

/// The command of a record, as a shell takes it.
fn words(record: &Record) -> String {
    let words = match &record.semantics {
        Semantics::Command(command) => &command.command[..],
        _ => &[],
    };
    words.iter().map(|word| super::quoted(word)).collect::<Vec<_>>().join(" ")
}
