//! [`judge`]: judges readings by ceilings.

use std::time::Duration;

use super::limit::{Ceiling, Ceilings};
use crate::bytes::ByteSize;
use crate::meter::{Metric, Part, PhaseReadings, ProcessPeak, Reading, Source, Watch, worst_reading};

/// The result of a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum CeilingStatus {
    /// No reading exceeds it.
    Holds,
    /// A reading exceeds it.
    Broken,
    /// No reading exceeds it, but a phase has none, so it may be broken.
    NotMeasurable,
}

/// The judgement of one ceiling over every phase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct CeilingVerdict {
    /// The limited metric.
    pub metric: Metric,
    /// The limit.
    pub limit: ByteSize,
    /// The result.
    pub status: CeilingStatus,
    /// The phase with the worst reading; for a ceiling that is not measurable, the phase without one.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub phase: Option<String>,
    /// The worst reading.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub reading: Option<Reading>,
    /// The process that took the most in that phase.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub process: Option<ProcessPeak>,
    /// The excess of the worst reading over the limit; absent if none exceeds it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub by: Option<ByteSize>,
    /// The verdict on one line.
    pub message: String,
}

impl CeilingVerdict {
    /// Whether this verdict on the same ceiling is worse than `other`: by status, then by reading.
    pub fn is_worse_than(&self, other: &Self) -> bool {
        let rank = |verdict: &Self| match verdict.status {
            CeilingStatus::Holds => 0,
            CeilingStatus::NotMeasurable => 1,
            CeilingStatus::Broken => 2,
        };
        if rank(self) != rank(other) {
            return rank(self) > rank(other);
        }
        let readings = self.reading.as_ref().zip(other.reading.as_ref());
        readings.is_some_and(|(one, other)| self.metric.is_past(one.bytes, other.bytes))
    }
}

/// Why only a bound is known for a phase.
const SHORT: &str = "it ended before it could be read again";
/// Why the peak of several processes is a lower bound.
const SHORT_PROCESSES: &str = "the marks of its processes or of its control group allow it between two samples";
/// Why the peak of a rarely read figure is a lower bound.
const SELDOM: &str = "it is read rarely, and resident memory was larger between two readings";

/// Why the mark of a process is a lower bound.
const COUNTED_LATE: &str = "the kernel has not counted every page yet, see `plimsoll doctor`";

/// Judges every ceiling by the worst reading of its metric in any phase; ceilings on retained memory only by the last
/// phase.
pub fn judge(phases: &[PhaseReadings], ceilings: &Ceilings) -> Vec<CeilingVerdict> {
    ceilings.iter().map(|ceiling| judge_one(phases, ceiling)).collect()
}

/// Judges the limits of a meter by its readings, like [`judge`] for ceilings.
pub fn judge_watches(phases: &[PhaseReadings], watches: &[Watch]) -> Vec<CeilingVerdict> {
    watches.iter().map(|&Watch { metric, limit }| judge_one(phases, Ceiling { metric, limit })).collect()
}

fn judge_one(phases: &[PhaseReadings], ceiling: Ceiling) -> CeilingVerdict {
    let Ceiling { metric, limit } = ceiling;
    // Memory that one phase retains may be freed in the next.
    let phases = if metric.is_retained() { &phases[phases.len().saturating_sub(1)..] } else { phases };
    let worst = worst_reading(phases, metric);
    let unread = || phases.iter().filter(|phase| !phase.readings.contains_key(&metric));
    let without = unread().find(|phase| whole(phase, metric).is_none_or(|whole| whole.at_most() > limit));
    let verdict = |status, phase: Option<&PhaseReadings>, reading: Option<&Reading>, message| CeilingVerdict {
        metric,
        limit,
        status,
        phase: phase.map(|phase| phase.phase.clone()),
        reading: reading.cloned(),
        process: reading.and(phase).and_then(|phase| largest(phase, metric)).cloned(),
        by: reading
            .filter(|reading| metric.is_past(reading.bytes, limit))
            .map(|reading| distance(reading.bytes, limit)),
        message,
    };
    match (worst, without) {
        (Some((phase, reading)), _) if metric.is_past(reading.bytes, limit) => {
            let message = broken(ceiling, phase, reading);
            verdict(CeilingStatus::Broken, Some(phase), Some(reading), message)
        }
        (_, Some(phase)) => {
            let reason = phase.unavailable.get(&metric).map_or("it was not read", String::as_str);
            let message = format!("{ceiling} is not measurable: in phase `{}` {reason}", phase.phase);
            verdict(CeilingStatus::NotMeasurable, Some(phase), None, message)
        }
        (Some((phase, reading)), None) => {
            if let Some((phase, most)) = phases.iter().find_map(|phase| Some((phase, unsure(phase, ceiling)?))) {
                let message = between(ceiling, phase, most);
                return verdict(CeilingStatus::NotMeasurable, Some(phase), None, message);
            }
            let message = match most(phase, metric) {
                Some(most) => {
                    format!("{ceiling} holds: at most {most} in phase `{}`; {}", phase.phase, why(phase, metric))
                }
                None => format!("{ceiling} holds: {} in phase `{}`, {}", reading.bytes, phase.phase, trust(reading)),
            };
            verdict(CeilingStatus::Holds, Some(phase), Some(reading), message)
        }
        (None, None) => match unread().find_map(|phase| Some((phase, whole(phase, metric)?))) {
            Some((phase, whole)) => {
                let of_all = format!("at most {}, the peak of all resident memory", whole.at_most());
                let message = format!("{ceiling} holds: {of_all} in phase `{}`, {}", phase.phase, trust(whole));
                verdict(CeilingStatus::Holds, Some(phase), None, message)
            }
            None => {
                let message = format!("{ceiling} is not measurable: no phase was metered");
                verdict(CeilingStatus::NotMeasurable, None, None, message)
            }
        },
    }
}

/// The possible value of a metric if it exceeds the ceiling while its inexact reading does not.
fn unsure(phase: &PhaseReadings, ceiling: Ceiling) -> Option<ByteSize> {
    most(phase, ceiling.metric).filter(|most| *most > ceiling.limit)
}

/// The upper bound of an inexact metric, if known.
pub(super) fn most(phase: &PhaseReadings, metric: Metric) -> Option<ByteSize> {
    let missed = match metric {
        // Growth cannot exceed the whole.
        Metric::PeakRss | Metric::PeakRssGrowth => phase.peak_rss_at_most,
        Metric::PeakPss => phase.peak_pss_at_most,
        _ => None,
    };
    missed.or_else(|| phase.readings.get(&metric).filter(|reading| reading.held_back.is_some()).map(Reading::at_most))
}

/// A bound for a part of the resident memory that was never sampled, because its process ended too early: the whole,
/// whose mark the kernel keeps to the end.
fn whole(phase: &PhaseReadings, metric: Metric) -> Option<&Reading> {
    let is_part =
        !metric.is_retained() && matches!(metric.facts().part, Part::Anon | Part::File | Part::Shmem | Part::Pss);
    let whole = phase.readings.get(&Metric::PeakRss).filter(|whole| whole.source == Source::Exact);
    // A figure that was sampled but refused has its own reason.
    whole.filter(|_| is_part && phase.timeline.is_empty())
}

/// Why only bounds of a phase's metric are known.
fn why(phase: &PhaseReadings, metric: Metric) -> &'static str {
    match metric {
        _ if phase.readings.get(&metric).is_some_and(|reading| reading.held_back.is_some()) => COUNTED_LATE,
        Metric::PeakPss => SELDOM,
        _ if phase.processes.len() > 1 => SHORT_PROCESSES,
        _ => SHORT,
    }
}

/// Names the phase and the bounds of the metric in it.
fn between(ceiling: Ceiling, phase: &PhaseReadings, most: ByteSize) -> String {
    let least = phase.readings.get(&ceiling.metric).map_or(ByteSize::ZERO, |reading| reading.bytes);
    format!(
        "{ceiling} is not measurable: in phase `{}` it was {least} at least and {most} at most; {}",
        phase.phase,
        why(phase, ceiling.metric)
    )
}

/// Names the phase, the reading with its excess over the limit, and the process that took the most.
fn broken(ceiling: Ceiling, phase: &PhaseReadings, reading: &Reading) -> String {
    let past = ceiling.metric.past();
    let by = distance(reading.bytes, ceiling.limit);
    let mut message = format!(
        "{ceiling} is broken in phase `{}`: {}, {by} {past} the limit; {}",
        phase.phase,
        reading.bytes,
        trust(reading)
    );
    if let Some(shared) = phase
        .shared
        .filter(|shared| matches!(ceiling.metric, Metric::PeakRss | Metric::PeakRssGrowth) && shared.pss < shared.rss)
    {
        message += &format!(
            "; pages that processes share count in each: divided among them (PSS), {} of {} are left",
            shared.pss, shared.rss
        );
    }
    if let Some(process) = largest(phase, ceiling.metric) {
        let (kind, peak) = match &process.peak_anon {
            Some(anon) if is_anonymous(ceiling.metric) => ("anonymous", anon),
            _ => ("resident", &process.peak_rss),
        };
        message += &format!("; most is {} ({}) with {} {kind}", process.name, process.pid, peak.bytes);
    }
    message
}

/// The source of a reading, which shows what it may have missed.
pub fn trust(reading: &Reading) -> String {
    match reading.source {
        Source::Exact => match reading.held_back {
            Some(most) => {
                format!("exact within {most}, which the kernel may not have counted yet ({})", reading.counter)
            }
            None => format!("exact ({})", reading.counter),
        },
        Source::Sampled { interval_ns } => {
            format!("sampled every {} ({})", milliseconds(Duration::from_nanos(interval_ns)), reading.counter)
        }
        Source::LowerBound => format!("at least, as more may have been missed ({})", reading.counter),
    }
}

fn milliseconds(interval: Duration) -> String {
    let milliseconds = interval.as_secs_f64() * 1e3;
    if milliseconds.fract() < 0.05 || milliseconds >= 100.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{milliseconds:.1} ms")
    }
}

fn distance(a: ByteSize, b: ByteSize) -> ByteSize {
    ByteSize::new(a.bytes().abs_diff(b.bytes()))
}

fn largest(phase: &PhaseReadings, metric: Metric) -> Option<&ProcessPeak> {
    // The process with the most RAM need not be the one that holds these.
    if matches!(metric, Metric::GpuPeak | Metric::PeakHeap | Metric::RetainedHeap) {
        return None;
    }
    phase.processes.iter().max_by_key(|process| match &process.peak_anon {
        anon if is_anonymous(metric) => anon.as_ref().map(|anon| anon.bytes),
        _ => Some(process.peak_rss.bytes),
    })
}

fn is_anonymous(metric: Metric) -> bool {
    matches!(metric, Metric::PeakAnon | Metric::PeakAnonGrowth | Metric::RetainedAnon)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SAMPLED: Source = Source::Sampled { interval_ns: 10_000_000 };

    fn reading(mib: u64, source: Source, counter: &str) -> Reading {
        Reading::new(ByteSize::mib(mib), source, counter)
    }

    fn process(pid: u32, name: &str, rss: u64, anon: u64) -> ProcessPeak {
        ProcessPeak {
            pid,
            name: name.to_owned(),
            peak_rss: reading(rss, Source::Exact, "VmHWM"),
            peak_anon: Some(reading(anon, SAMPLED, "RssAnon")),
        }
    }

    fn phase(name: &str, readings: &[(Metric, u64, Source)]) -> PhaseReadings {
        PhaseReadings {
            phase: name.to_owned(),
            wall_ns: 1,
            readings: readings.iter().map(|&(metric, mib, source)| (metric, reading(mib, source, "figure"))).collect(),
            unavailable: BTreeMap::from([(Metric::PeakPss, "/proc/7/smaps_rollup: Permission denied".to_owned())]),
            processes: vec![process(7, "worker 1", 300, 20), process(5, "supervisor", 40, 30)],
            ..PhaseReadings::default()
        }
    }

    fn one(phases: &[PhaseReadings], ceiling: &str) -> CeilingVerdict {
        judge(phases, &ceiling.parse().unwrap()).remove(0)
    }

    #[test]
    fn a_broken_ceiling_says_which_phase_which_process_and_by_how_much() {
        let phases = [
            phase("validate", &[(Metric::PeakRss, 330, SAMPLED), (Metric::PeakAnon, 50, SAMPLED)]),
            phase("profile", &[(Metric::PeakRss, 290, SAMPLED), (Metric::PeakAnon, 40, SAMPLED)]),
        ];
        let rss = one(&phases, "peak_rss = 256 MiB");
        assert_eq!((rss.status, rss.by), (CeilingStatus::Broken, Some(ByteSize::mib(74))));
        assert_eq!(
            rss.message,
            "peak_rss <= 256.00 MiB is broken in phase `validate`: 330.00 MiB, 74.00 MiB above the limit; \
             sampled every 10 ms (figure); most is worker 1 (7) with 300.00 MiB resident"
        );
        let anon = one(&phases, "peak_anon = 16 MiB");
        assert_eq!(anon.process.unwrap().name, "supervisor");
        assert!(anon.message.ends_with("most is supervisor (5) with 30.00 MiB anonymous"), "{}", anon.message);
    }

    #[test]
    fn a_ceiling_that_is_met_holds_and_says_how_that_is_known() {
        let phases =
            [phase("a", &[(Metric::PeakRss, 255, Source::Exact)]), phase("b", &[(Metric::PeakRss, 256, SAMPLED)])];
        let verdict = one(&phases, "peak_rss = 256 MiB");
        assert_eq!((verdict.status, verdict.by, verdict.phase.as_deref()), (CeilingStatus::Holds, None, Some("b")));
        assert_eq!(
            verdict.message,
            "peak_rss <= 256.00 MiB holds: 256.00 MiB in phase `b`, sampled every 10 ms (figure)"
        );
        let exact = one(&phases[..1], "peak_rss = 256 MiB");
        assert!(exact.message.ends_with("255.00 MiB in phase `a`, exact (figure)"), "{}", exact.message);
    }

    #[test]
    fn a_floor_is_judged_the_other_way_round() {
        let phases = [
            phase("a", &[(Metric::AvailableFloor, 900, SAMPLED)]),
            phase("b", &[(Metric::AvailableFloor, 500, SAMPLED)]),
        ];
        assert_eq!(one(&phases, "available_floor = 500 MiB").status, CeilingStatus::Holds);
        let broken = one(&phases, "available_floor = 512 MiB");
        assert_eq!((broken.status, broken.by), (CeilingStatus::Broken, Some(ByteSize::mib(12))));
        assert!(broken.message.contains("in phase `b`: 500.00 MiB, 12.00 MiB below the limit"), "{}", broken.message);
    }

    #[test]
    fn no_process_is_blamed_for_what_its_resident_set_does_not_show() {
        let phases = [phase("a", &[(Metric::GpuPeak, 9, SAMPLED), (Metric::PeakAnonGrowth, 9, SAMPLED)])];
        let gpu = one(&phases, "gpu_peak = 4 MiB");
        assert!(gpu.process.is_none() && !gpu.message.contains("most is"), "{}", gpu.message);
        let anon = one(&phases, "peak_anon_growth = 4 MiB");
        assert!(anon.message.ends_with("; most is supervisor (5) with 30.00 MiB anonymous"), "{}", anon.message);
    }

    #[test]
    fn what_is_retained_is_judged_in_the_last_phase() {
        let leaves = |name, mib| phase(name, &[(Metric::RetainedRss, mib, Source::Exact)]);
        let verdict = one(&[leaves("a", 90), leaves("b", 2)], "retained_rss = 4 MiB");
        assert_eq!((verdict.status, verdict.phase.as_deref()), (CeilingStatus::Holds, Some("b")));
        assert_eq!(one(&[leaves("a", 0), leaves("b", 9)], "retained_rss = 4 MiB").status, CeilingStatus::Broken);
        assert_eq!(
            one(&[leaves("a", 0), phase("b", &[])], "retained_rss = 4 MiB").status,
            CeilingStatus::NotMeasurable
        );
        assert_eq!(one(&[], "retained_rss = 4 MiB").status, CeilingStatus::NotMeasurable);
    }

    #[test]
    fn a_part_of_what_is_known_to_be_small_enough_holds() {
        let mut phases = [phase("run", &[(Metric::PeakRss, 12, Source::Exact)])];
        phases[0].timeline.clear();
        let holds = one(&phases, "peak_anon = 16 MiB");
        assert_eq!((holds.status, &holds.reading), (CeilingStatus::Holds, &None));
        assert_eq!(
            holds.message,
            "peak_anon <= 16.00 MiB holds: at most 12.00 MiB, the peak of all resident memory in phase `run`, exact \
             (figure)"
        );
        assert_eq!(one(&phases, "peak_anon = 8 MiB").status, CeilingStatus::NotMeasurable);
        assert_eq!(one(&phases, "peak_swap = 16 MiB").status, CeilingStatus::NotMeasurable);
        phases[0].readings.get_mut(&Metric::PeakRss).unwrap().source = SAMPLED;
        assert_eq!(one(&phases, "peak_anon = 16 MiB").status, CeilingStatus::NotMeasurable);
    }

    #[test]
    fn what_may_be_past_its_ceiling_does_not_hold() {
        let short = |rss| {
            let mut phase = phase("run", &[(Metric::PeakRss, rss, Source::LowerBound)]);
            phase.peak_rss_at_most = Some(ByteSize::mib(3));
            phase.processes.clear();
            phase
        };
        let unsure = one(&[short(1)], "peak_rss = 2 MiB");
        assert_eq!((unsure.status, &unsure.reading), (CeilingStatus::NotMeasurable, &None));
        assert_eq!(
            unsure.message,
            "peak_rss <= 2.00 MiB is not measurable: in phase `run` it was 1.00 MiB at least and 3.00 MiB at most; it \
             ended before it could be read again"
        );
        let holds = one(&[short(1)], "peak_rss = 3 MiB");
        assert_eq!(holds.status, CeilingStatus::Holds);
        assert_eq!(
            holds.message,
            "peak_rss <= 3.00 MiB holds: at most 3.00 MiB in phase `run`; it ended before it could be read again"
        );
        // The part that was read suffices to break it.
        assert_eq!(one(&[short(1)], "peak_rss = 1023 KiB").status, CeilingStatus::Broken);
        // Among several phases, the one that may exceed it counts, even if another was larger.
        let read = phase("load", &[(Metric::PeakRss, 2, Source::Exact)]);
        assert_eq!(one(&[read, short(1)], "peak_rss = 2 MiB").status, CeilingStatus::NotMeasurable);
    }

    #[test]
    fn what_the_kernel_counts_late_may_break_a_ceiling() {
        let mut phase = phase("run", &[(Metric::PeakRss, 60, Source::Exact), (Metric::RetainedRss, 1, Source::Exact)]);
        phase.readings.get_mut(&Metric::PeakRss).unwrap().held_back = Some(ByteSize::mib(4));
        let status = |ceiling| one(std::slice::from_ref(&phase), ceiling).status;
        assert_eq!(status("peak_rss = 59 MiB"), CeilingStatus::Broken);
        assert_eq!(status("peak_rss = 60 MiB"), CeilingStatus::NotMeasurable);
        assert_eq!(status("peak_rss = 64 MiB"), CeilingStatus::Holds);
        assert_eq!(status("retained_rss = 1 MiB"), CeilingStatus::Holds, "it was read from page tables");
        let unsure = one(std::slice::from_ref(&phase), "peak_rss = 62 MiB");
        assert_eq!(
            unsure.message,
            "peak_rss <= 62.00 MiB is not measurable: in phase `run` it was 60.00 MiB at least and 64.00 MiB at most; \
             the kernel has not counted every page yet, see `plimsoll doctor`"
        );
        assert!(trust(&phase.readings[&Metric::PeakRss]).starts_with("exact within 4.00 MiB"));
    }

    #[test]
    fn what_was_not_read_never_holds() {
        let some = [phase("a", &[(Metric::PeakPss, 5, SAMPLED)]), phase("b", &[])];
        let verdict = one(&some, "peak_pss = 8 MiB");
        assert_eq!((verdict.status, verdict.reading), (CeilingStatus::NotMeasurable, None));
        assert_eq!(
            verdict.message,
            "peak_pss <= 8.00 MiB is not measurable: in phase `b` /proc/7/smaps_rollup: Permission denied"
        );
        assert_eq!(one(&some, "peak_pss = 4 MiB").status, CeilingStatus::Broken, "what was read is enough to break it");
        let none = one(&[], "peak_rss = 8 MiB");
        assert_eq!(none.status, CeilingStatus::NotMeasurable);
        assert!(none.message.ends_with("no phase was metered"), "{}", none.message);
    }

    #[test]
    fn intervals_are_shown_as_they_are() {
        let say = |us| milliseconds(Duration::from_micros(us));
        assert_eq!([say(10_000), say(500), say(12_349), say(123_456)], ["10 ms", "0.5 ms", "12.3 ms", "123 ms"]);
    }
}
