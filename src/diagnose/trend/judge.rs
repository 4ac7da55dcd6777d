//! The verdict on the series of each label and metric.

use std::collections::BTreeMap;

use super::finding::{Finding, Spread, TrendVerdict};
use super::held::{Held, State};
use super::pattern::{Pattern, pattern, pattern_of_a_process, tolerance};
use super::series::{AllSeries, Key, Point, Series, shape};
use super::statistics::Statistics;
use super::worker::Worker;
use crate::telemetry::{Clock, Figure, Format, Metric, Position, is_of_what_remains, newest_first};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_statistics::trend::{rises_evenly, rises_throughout};

/// A gibibyte.
const GIB: f64 = (1u64 << 30) as f64;

/// The findings of every label and metric, in the order in which the log first shows them. `repeated` is the number of
/// lines of other processes that one line of a label stood for.
pub(super) fn judge(all: &AllSeries, repeated: &BTreeMap<String, u64>) -> Vec<Finding> {
    let found = all.iter().filter_map(|(key, workers)| Some((first(workers), of_key(all, key, workers, repeated)?)));
    let mut found: Vec<(Option<Position>, Finding)> = found.collect();
    found.sort_by_key(|(first, _)| *first);
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The position of the first reading of any worker.
fn first(workers: &BTreeMap<Worker, Series>) -> Option<Position> {
    workers.values().filter_map(|series| Some(series.points.first()?.position)).min()
}

/// How many ranks were not seen at a label: one line was printed for this many others.
pub(super) fn unseen(repeated: &BTreeMap<String, u64>, label: &str, workers: usize) -> Option<u64> {
    let told = repeated.get(label).copied().filter(|told| *told > 0)?;
    Some((told + 1).saturating_sub(workers as u64)).filter(|unseen| *unseen > 0)
}

/// One worker's readings, judged.
struct Judged {
    verdict: TrendVerdict,
    worker: Worker,
    pattern: Pattern,
    statistics: Statistics,
    shape: Vec<ByteSize>,
    evidence: Vec<Point>,
    explanation: String,
}

fn of_key(
    all: &AllSeries,
    key: &Key,
    workers: &BTreeMap<Worker, Series>,
    repeated: &BTreeMap<String, u64>,
) -> Option<Finding> {
    let spread = spread(workers).filter(|_| !of_a_machine(key, workers));
    let by_rank = alike(all, key) && spread.is_some_and(|spread| spread.rank_dependent);
    let judged = workers.iter().filter_map(|(worker, series)| of_worker(all, key, *worker, series, by_rank));
    // The worst rank: the gravest verdict, then the highest last reading.
    let mut worst = judged.max_by_key(|judged| (judged.verdict, judged.statistics.last))?;
    let mut explanation = worst.explanation;
    if let Some(spread) = spread.filter(|spread| spread.rank_dependent) {
        worst.verdict = worst.verdict.max(TrendVerdict::VariesByRank);
        let Spread { lowest, lowest_worker, highest, highest_worker, .. } = spread;
        explanation
            .push_str(&format!("; it depends on the rank: {lowest} on {lowest_worker}, {highest} on {highest_worker}"));
    }
    if let Some(unseen) =
        unseen(repeated, &key.label, workers.len()).filter(|_| worst.verdict < TrendVerdict::Inconclusive)
    {
        worst.verdict = TrendVerdict::Inconclusive;
        explanation.push_str(&format!(
            "; nothing is known of {unseen} ranks: Ray shows one line for several (RAY_DEDUP_LOGS=0 shows them all)"
        ));
    }
    Some(Finding {
        verdict: worst.verdict,
        format: key.format,
        label: key.label.clone(),
        metric: key.metric,
        worker: worst.worker,
        pattern: worst.pattern,
        statistics: worst.statistics,
        shape: worst.shape,
        latest: latest(all, key, worst.worker),
        spread,
        evidence: worst.evidence.iter().map(|point| point.position).collect(),
        explanation,
    })
}

/// Whether the amounts are those of a machine, which any program may use: they are not compared. Processes of a table
/// are no ranks either.
fn of_a_machine(key: &Key, workers: &BTreeMap<Worker, Series>) -> bool {
    let unranked = |worker: &Worker| worker.rank.is_none();
    match key.metric {
        Metric::DeviceUsed => workers.keys().any(|worker| unranked(worker) && worker.device.is_some()),
        Metric::HostUsed | Metric::HostPeak => key.format == Format::Plain && workers.keys().any(unranked),
        _ => false,
    }
}

/// Whether all ranks allocate the same at the label of `key`, if the log shows it: their work is the same.
fn alike(all: &AllSeries, key: &Key) -> bool {
    let allocated = all.get(&Key { metric: Metric::Allocated, ..key.clone() });
    !allocated.and_then(spread).is_some_and(|spread| spread.rank_dependent)
}

fn of_worker(all: &AllSeries, key: &Key, worker: Worker, series: &Series, by_rank: bool) -> Option<Judged> {
    let readings = series.readings();
    let last_run = readings.last()?.run;
    let mut run: Vec<Point> = readings.iter().filter(|point| point.run == last_run).copied().collect();
    if newest_first(run.iter().map(|point| point.clock)) {
        run.reverse();
    }
    let of_a_process = matches!(key.metric, Metric::HostUsed | Metric::HostPeak);
    let (pattern, statistics) = if of_a_process { pattern_of_a_process(&run)? } else { pattern(&run)? };
    let ends = |points: &[Point]| points.first().into_iter().chain(points.last()).copied().collect::<Vec<_>>();
    let mut judged = Judged {
        verdict: TrendVerdict::ReportOnly,
        worker,
        pattern,
        statistics,
        shape: shape(&run),
        evidence: ends(&run),
        explanation: String::new(),
    };
    let words = format!("{} {}", key.metric.title(), at(&key.label));
    let Statistics { first, last, readings: count, slope, p, .. } = statistics;
    let moved = format!("{words}: {first} -> {last} over {count} readings on {worker}");
    judged.explanation = format!("{moved}, {}", pattern.title());
    if key.format == Format::Versions {
        let runs = readings.chunk_by(|a, b| a.run == b.run).filter(|run| run.len() > 1);
        let worst = runs.max_by(|a, b| f64::total_cmp(&growth(a), &growth(b)))?;
        judged.evidence = ends(worst);
        let [before, after] = [worst.first(), worst.last()].map(|point| point.map(|point| point.figure.bytes));
        judged.explanation = format!("{words}: {} before, {} after ({:+.1} %)", before?, after?, 100.0 * growth(worst));
        if growth(worst) > MOST_OF_A_VERSION {
            judged.verdict = TrendVerdict::Regression;
        }
        return Some(judged);
    }
    let growing = pattern == Pattern::Growing;
    let slope = ByteSize::new(slope.max(0.0) as u64);
    match key.metric {
        Metric::Allocated if growing && steps_alike(&key.label) => {
            judged.verdict = TrendVerdict::Leak;
            judged.explanation =
                format!("{moved}: rises by {slope} a step at constant work (Theil-Sen; Mann-Kendall p = {p:.4})");
        }
        // The peaks of work that varies rise now and then, and ever more rarely; a leak raises them at every step.
        Metric::MaxAllocated
            if growing && steps_alike(&key.label) && rises_evenly(&values(&run), READINGS_OF_A_RISE) =>
        {
            judged.verdict = TrendVerdict::Leak;
            judged.explanation = format!("{moved}: each step's peak is {slope} above the one before (Theil-Sen)");
        }
        // Any program may use a device: what rises as evenly as this is one that keeps what it takes.
        Metric::DeviceUsed
            if growing
                && rise(&run) > GIB
                && rises_throughout(&values(&run), READINGS_OF_A_RISE)
                && (is_long(&run) || is_slow(&run) || is_of_what_remains(&key.label)) =>
        {
            judged.verdict = TrendVerdict::Leak;
            judged.explanation = format!("{moved}: rises by {slope} a reading, evenly to the end (Theil-Sen)");
        }
        Metric::DeviceFree | Metric::HostFree if falls_evenly(&run) => {
            let of_device = key.metric == Metric::DeviceFree;
            judged.verdict = if of_device { TrendVerdict::Leak } else { TrendVerdict::HostGrowth };
            judged.explanation = format!("{moved}: falls at nearly every reading, evenly to the end");
        }
        Metric::HostUsed | Metric::HostPeak if growing && host_grows(key, &run) => {
            judged.verdict = TrendVerdict::HostGrowth;
            judged.explanation = format!("{moved}: rises by {slope} a step (Theil-Sen; Mann-Kendall p = {p:.4})");
        }
        Metric::Reserved => {
            if let Some((verdict, explanation)) = cached(all, key, worker, &run, &words, by_rank) {
                judged.verdict = verdict;
                judged.explanation = explanation;
            }
        }
        _ => {}
    }
    if judged.verdict == TrendVerdict::Leak && is_of_what_remains(&key.label) {
        judged.verdict = TrendVerdict::ResidualGrowth;
    }
    if matches!(key.metric, Metric::Allocated | Metric::Reserved)
        && let Some((before, after)) = between_runs(&readings)
    {
        judged.verdict = judged.verdict.max(TrendVerdict::Regression);
        if judged.verdict == TrendVerdict::Regression {
            judged.evidence = vec![before, after];
            judged.shape = shape(&readings);
            let (before, after) = (before.figure.bytes, after.figure.bytes);
            judged.explanation = format!("{words} on {worker}: {before} in the run before, {after} in the last");
        }
    }
    Some(judged)
}

/// Whether host memory that rises is more than the start of a program.
///
/// A process grows in its first steps, as it imports and fills caches, and stops. So a rise below 1 GiB counts only if it
/// is of a process, goes on at the same rate in its second half, and is seen in several steps. The memory of a whole
/// machine moves by more for other reasons.
fn host_grows(key: &Key, run: &[Point]) -> bool {
    const LEAST_RISE: f64 = GIB / 4.0;
    let (rise, first) = (rise(run), run[0].figure.value());
    // A small process that grows by half counts as well, if it is seen long enough, or if it grows to three times as much.
    let small = first.min(rise) > LEAST_RISE / 4.0
        && (run.len() >= MANY_READINGS && rise >= first / 2.0 || rise >= 2.0 * first);
    let smallest = || rise >= first / 2.0 && (run.len() >= MANY_READINGS_OF_A_SMALL_PROCESS || is_slow(run));
    // What doubles from step to step is the work.
    let last = run[run.len() - 1].figure.value() - run[run.len() - 2].figure.value();
    let explodes = run.len() >= READINGS_OF_A_RISE && 2.0 * last >= rise;
    // What a collection leaves is in use.
    // So does what a process holds after so long.
    let fewer = key.label.ends_with("collection") || is_slow(run);
    let least = if fewer { READINGS_OF_A_RISE - 1 } else { READINGS_OF_A_RISE };
    let evenly = if key.metric == Metric::HostPeak { rises_evenly } else { rises_throughout };
    !explodes
        && ((rise > GIB && key.metric == Metric::HostUsed)
            || (key.format != Format::Deepspeed
                && (rise > LEAST_RISE || small || smallest())
                && evenly(&values(run), least)))
}

/// How far memory may be above that of the version before, as a share.
const MOST_OF_A_VERSION: f64 = 0.05;

/// How far the last of several versions is above the first, as a share.
fn growth(versions: &[Point]) -> f64 {
    versions[versions.len() - 1].figure.value() / versions[0].figure.value() - 1.0
}

/// How far the last reading is above the first.
fn rise(run: &[Point]) -> f64 {
    run[run.len() - 1].figure.value() - run[0].figure.value()
}

/// The fewest readings that show more than a start.
const MANY_READINGS: usize = 8;
/// The fewest of a process that is small as it starts.
const MANY_READINGS_OF_A_SMALL_PROCESS: usize = 12;
/// The fewest of a device, which takes the data of a program that starts as evenly.
const MANY_READINGS_OF_A_DEVICE: usize = 15;

/// Whether the readings of a device are more than those of a program that starts: they are many, or far above nothing
/// from the first on.
fn is_long(run: &[Point]) -> bool {
    run.len() >= MANY_READINGS_OF_A_DEVICE || rise(run) <= run[0].figure.value()
}

/// Whether the readings have times, most of which lie further apart than those of a program that starts.
fn is_slow(run: &[Point]) -> bool {
    const APART: u64 = 5 * 60;
    let clocks: Option<Vec<Clock>> = run.iter().map(|point| point.clock).collect();
    clocks.is_some_and(|clocks| {
        let apart = clocks.windows(2).filter(|two| two[0].until(two[1]) >= APART).count();
        2 * apart >= run.len()
    })
}

/// Whether what is free falls by a quarter or more, as evenly as a leak makes it fall.
fn falls_evenly(run: &[Point]) -> bool {
    run.len() >= MANY_READINGS
        && -rise(run) >= run[0].figure.value() / 4.0
        && rises_throughout(&values(run).into_iter().map(|value| -value).collect::<Vec<_>>(), READINGS_OF_A_RISE)
}

fn values(run: &[Point]) -> Vec<f64> {
    run.iter().map(|point| point.figure.value()).collect()
}

/// How many times as much is reserved at the end, if a cache grows without end.
const MUCH_MORE: f64 = 1.5;

/// The fewest readings that show an even rise.
const READINGS_OF_A_RISE: usize = 6;

/// The last readings of `worker` at the label of `key`.
fn latest(all: &AllSeries, key: &Key, worker: Worker) -> BTreeMap<Metric, Figure> {
    let same = all.iter().filter(|(other, _)| other.format == key.format && other.label == key.label);
    same.filter_map(|(other, workers)| Some((other.metric, workers.get(&worker)?.last()?.figure))).collect()
}

/// Whether readings at `label` repeat the same work. Readings while a program is being built do not.
pub(super) fn steps_alike(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    !["init", "load", "creating", "building", "partition"].iter().any(|word| label.contains(word))
}

fn at(label: &str) -> String {
    if label.is_empty() { "in the log".to_owned() } else { format!("at `{label}`") }
}

/// The meaning of reserved memory far above an allocated memory that does not rise.
fn cached(
    all: &AllSeries,
    key: &Key,
    worker: Worker,
    run: &[Point],
    words: &str,
    by_rank: bool,
) -> Option<(TrendVerdict, String)> {
    let allocated = Key { metric: Metric::Allocated, ..key.clone() };
    let series = all.get(&allocated)?.get(&worker)?.readings();
    let allocated_run: Vec<Point> = series.iter().filter(|point| point.run == run[0].run).copied().collect();
    let (pattern, _) = pattern(&allocated_run)?;
    let (held, used) = (run.last()?, allocated_run.last()?);
    let still = matches!(pattern, Pattern::Steady | Pattern::Falling | Pattern::Plateau | Pattern::FirstStepOnly);
    let fell = still || used.figure.value() <= allocated_run[0].figure.value() + tolerance(&allocated_run);
    // A table of PyTorch shows the peak of the training, when the cache is full of memory that will be used again.
    if !fell || key.format == Format::MemorySummary || peaks(all, key, worker, held.figure) {
        return None;
    }
    let (held, used) = (held.figure, used.figure);
    let both = Held { rises: false, allocated: Some(used.value()), reserved: Some(held.value()), by_rank };
    let stays = format!("{words}: {} stay reserved on {worker} while {} are allocated", held.bytes, used.bytes);
    // A cache that serves the next requests stops growing after the largest of them.
    let rises = run.len() >= MANY_READINGS && run[run.len() - 1].figure.value() >= MUCH_MORE * run[0].figure.value();
    match super::held::judge(&both, None) {
        State::Cache if rises && rises_throughout(&values(run), READINGS_OF_A_RISE) => {
            let why = "which rise to the end: the free blocks of the cache do not fit later requests";
            Some((TrendVerdict::Fragmentation, format!("{stays}, {why}")))
        }
        State::Fragmentation => {
            let why = "other ranks allocate as much and keep far less: the cache is in pieces that cannot be released";
            Some((TrendVerdict::Fragmentation, format!("{stays}, and {why}")))
        }
        State::Cache => {
            let why = "this is the allocator's cache, not a leak; if a later request does not fit, the cache is \
                fragmented";
            Some((TrendVerdict::CacheNotLeak, format!("{stays}: {why}")))
        }
        State::Leak | State::Used | State::Unknown => None,
    }
}

/// Whether the tensors of a step fill most of what is reserved, by the peak that the log has beside it.
fn peaks(all: &AllSeries, key: &Key, worker: Worker, held: Figure) -> bool {
    let last = || all.get(&Key { metric: Metric::MaxAllocated, ..key.clone() })?.get(&worker)?.last();
    key.format == Format::Megatron && last().is_some_and(|peak| peak.figure.value() >= 0.8 * held.value())
}

/// The last readings of the previous run and of the last run, at the same step if steps are known, if the later one is
/// at least 1.5 times as large and 1 GiB larger.
fn between_runs(readings: &[Point]) -> Option<(Point, Point)> {
    let last_run = readings.last()?.run;
    let before = last_run.checked_sub(1)?;
    let of = |run: u32| readings.iter().filter(move |point| point.run == run);
    let pair = of(last_run).rev().find_map(|after| {
        let same = |point: &&Point| point.step == after.step;
        of(before).rev().find(same).map(|before| (*before, *after))
    });
    let (a, b) = pair.or_else(|| Some((*of(before).next_back()?, *of(last_run).next_back()?)))?;
    let rise = b.figure.value() - a.figure.value();
    let enough = rise > GIB.max(tolerance(&[a, b])) && b.figure.value() > 1.5 * a.figure.value();
    enough.then_some((a, b))
}

/// The last readings of all ranks; `None` if there is only one.
pub(super) fn spread(workers: &BTreeMap<Worker, Series>) -> Option<Spread> {
    // Readings that name nobody may be those of any of the others.
    let named = workers.iter().filter(|(worker, _)| **worker != Worker::default());
    let last = named.filter_map(|(worker, series)| Some((series.readings().last()?.figure.bytes, *worker)));
    let mut last: Vec<_> = last.collect();
    last.sort_unstable();
    let (&(lowest, lowest_worker), &(highest, highest_worker)) = (last.first()?, last.last()?);
    let apart = highest.bytes().saturating_sub(lowest.bytes()) as f64;
    (last.len() > 1).then_some(Spread {
        ranks: last.len() as u64,
        lowest,
        lowest_worker,
        highest,
        highest_worker,
        rank_dependent: apart > GIB && apart > highest.bytes() as f64 / 4.0,
    })
}
