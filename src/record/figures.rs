//! [`figures`]: the numbers by which a record can be judged, each under a stable name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Record;
pub use plimsoll_memory::ceiling::Unit;
use plimsoll_memory::meter::{Metric, PhaseReadings, Source, worst_reading};

/// A number of a record, with one value per repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The name: `peak_rss` over all phases, `validate.peak_rss` in one of several.
    pub name: String,
    /// The phase; absent for a figure over all phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The unit of the values.
    pub unit: Unit,
    /// Which direction is better.
    pub direction: Direction,
    /// The reliability of the values: that of the weakest. Absent for times and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The values, in the order of the repeats that have one; a single run has one value.
    pub values: Vec<f64>,
    /// The upper end of each value's range, for a sampled part of the resident memory: the resident peak that the
    /// samples missed is added. Empty for all other figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_most: Vec<f64>,
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better, for example memory that stays available.
    Higher,
}

impl Direction {
    /// Whether a change from `before` to `now` is for the worse.
    pub fn is_worse(self, before: f64, now: f64) -> bool {
        match self {
            Self::Lower => now > before,
            Self::Higher => now < before,
        }
    }

    /// The worse of two values.
    pub fn worse(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Lower => one.max(other),
            Self::Higher => one.min(other),
        }
    }
}

/// One figure of one repeat.
#[derive(Clone, Copy, Debug)]
struct Value {
    unit: Unit,
    direction: Direction,
    source: Option<Source>,
    value: f64,
    at_most: Option<f64>,
}

/// The figures of a record, in the order of a report: first those over all phases, then, if there are several, those of
/// each.
///
/// - The metrics of memory ([`Metric`]): over all phases the worst, of what is retained the last.
/// - `wall` and `cpu_time` (user and system together), in nanoseconds.
/// - `minor_faults`, `major_faults` and `oom_kills`, counted; `memory_stall`, the time in which some task waited for
///   memory. Whose stalls and kills they are says the record ([`Activity`](plimsoll_memory::meter::Activity)).
/// - `timing.mean` and `timing.median`: nanoseconds a launch over the entries of a capture.
///
/// Figures that were not measured are missing.
pub fn figures(record: &Record) -> Vec<Figure> {
    figures_of([record])
}

/// The figures of several records of one subject, whose runs count as repeats, in this order. A record of several runs
/// contributes the values of each.
pub fn figures_of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Figure> {
    let mut gathered = Gathered::default();
    for record in records {
        if record.runs.is_empty() {
            gathered.run(&record.phases, record.wall_ns);
        }
        for run in &record.runs {
            gathered.run(&run.phases, run.wall_ns);
        }
        if let Some(timing) = record.results.timing {
            for (name, value) in [("timing.mean", timing.mean_ns), ("timing.median", timing.median_ns)] {
                gathered.add(name.to_owned(), None, Value::counted(Unit::Nanoseconds, value));
            }
        }
    }
    gathered.figures
}

/// The figures of the repeats gathered so far.
#[derive(Debug, Default)]
struct Gathered {
    figures: Vec<Figure>,
    /// The index of the figure with a name.
    at: BTreeMap<String, usize>,
}

impl Gathered {
    /// Adds one repeat.
    fn run(&mut self, phases: &[PhaseReadings], wall_ns: u64) {
        let all: Vec<&PhaseReadings> = phases.iter().collect();
        for (name, value) in of_phases(&all, wall_ns) {
            self.add(name.to_owned(), None, value);
        }
        // A phase that recurs, such as an epoch, counts as one.
        let mut names: Vec<&str> = Vec::new();
        for phase in phases {
            if !names.contains(&&*phase.phase) {
                names.push(&phase.phase);
            }
        }
        if names.len() < 2 {
            return;
        }
        for phase in names {
            let of_name: Vec<&PhaseReadings> = phases.iter().filter(|other| other.phase == phase).collect();
            let wall_ns = of_name.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.wall_ns));
            for (name, value) in of_phases(&of_name, wall_ns) {
                self.add(format!("{phase}.{name}"), Some(phase), value);
            }
        }
    }

    fn add(&mut self, name: String, phase: Option<&str>, value: Value) {
        if let Some(&at) = self.at.get(&name) {
            let figure = &mut self.figures[at];
            figure.values.push(value.value);
            figure.at_most.extend(value.at_most);
            figure.source = weaker(figure.source, value.source);
            return;
        }
        self.at.insert(name.clone(), self.figures.len());
        let Value { unit, direction, source, value, at_most } = value;
        let phase = phase.map(str::to_owned);
        self.figures.push(Figure {
            name,
            phase,
            unit,
            direction,
            source,
            values: vec![value],
            at_most: Vec::from_iter(at_most),
        });
    }
}

/// Combines several phases.
fn of_phases(phases: &[&PhaseReadings], wall_ns: u64) -> Vec<(&'static str, Value)> {
    let memory = Metric::ALL.into_iter().filter_map(|metric| Some((metric.name(), memory(metric, phases)?)));
    let sum = |of: &dyn Fn(&PhaseReadings) -> Option<u64>| {
        let parts = phases.iter().map(|phase| of(phase));
        parts.reduce(|sum, part| Some(sum?.saturating_add(part?))).flatten().map(|sum| sum as f64)
    };
    let activity = [
        ("wall", Unit::Nanoseconds, Some(wall_ns as f64)),
        (
            "cpu_time",
            Unit::Nanoseconds,
            sum(&|phase| Some(phase.activity.cpu_user_ns?.saturating_add(phase.activity.cpu_system_ns?))),
        ),
        ("minor_faults", Unit::Count, sum(&|phase| phase.activity.minor_faults)),
        ("major_faults", Unit::Count, sum(&|phase| phase.activity.major_faults)),
        ("memory_stall", Unit::Nanoseconds, sum(&|phase| phase.activity.some_stall_us).map(|us| us * 1e3)),
        ("oom_kills", Unit::Count, sum(&|phase| phase.activity.oom_kills)),
    ];
    let activity = activity.into_iter().filter_map(|(name, unit, value)| Some((name, Value::counted(unit, value?))));
    memory.chain(activity).collect()
}

/// The worst reading of a metric; for retained memory the reading of the last phase.
fn memory(metric: Metric, phases: &[&PhaseReadings]) -> Option<Value> {
    let phases = if metric.is_retained() { &phases[phases.len().saturating_sub(1)..] } else { phases };
    let direction = if metric.is_floor() { Direction::Higher } else { Direction::Lower };
    let (_, worst) = worst_reading(phases.iter().copied(), metric)?;
    let value = worst.bytes.bytes() as f64;
    let at_most = phases.iter().filter_map(|phase| at_most(metric, phase)).reduce(f64::max);
    Some(Value { unit: Unit::Bytes, direction, source: Some(worst.source), value, at_most })
}

/// The range of a sampled part of a phase's resident memory: everything that the samples missed of the resident peak
/// may belong to this part.
fn at_most(metric: Metric, phase: &PhaseReadings) -> Option<f64> {
    let part = matches!(metric, Metric::PeakAnon | Metric::PeakShmem | Metric::PeakPss);
    let reading = phase.readings.get(&metric).filter(|_| part)?;
    let peak = phase.readings.get(&Metric::PeakRss)?;
    let is_sampled = |source| matches!(source, Source::Sampled { .. });
    if !is_sampled(reading.source) || is_sampled(peak.source) {
        return None;
    }
    let missed = peak.bytes.bytes().saturating_sub(phase.at_peak?.rss.bytes());
    Some(reading.bytes.bytes().saturating_add(missed) as f64)
}

impl Value {
    /// A time or a count, of which less is better.
    fn counted(unit: Unit, value: f64) -> Self {
        Self { unit, direction: Direction::Lower, source: None, value, at_most: None }
    }
}

/// The less reliable source.
fn weaker(one: Option<Source>, other: Option<Source>) -> Option<Source> {
    let rank = |source: &Option<Source>| match source {
        None => (0, 0),
        Some(Source::Exact) => (1, 0),
        Some(Source::Sampled { interval_ns }) => (2, *interval_ns),
        Some(Source::LowerBound) => (3, 0),
    };
    if rank(&other) > rank(&one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_memory::bytes::ByteSize;

    fn named<'a>(figures: &'a [Figure], name: &str) -> &'a Figure {
        figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name} is not among {figures:?}"))
    }

    const MIB: f64 = 1024.0 * 1024.0;

    #[test]
    fn every_number_has_one_name() {
        let figures = figures(&sample::record());
        let names: Vec<&str> = figures.iter().map(|figure| &*figure.name).collect();
        let once = |name: &&str| names.iter().filter(|other| *other == name).count() == 1;
        assert!(names.iter().all(once), "{names:?}");
        assert_eq!(
            names[..11],
            [
                "peak_rss",
                "peak_anon",
                "peak_pss",
                "swap_growth",
                "available_floor",
                "wall",
                "cpu_time",
                "minor_faults",
                "major_faults",
                "memory_stall",
                "oom_kills"
            ]
        );
        // Over all phases the worst counts; each phase has its own.
        assert_eq!(named(&figures, "peak_rss").values, [900.0 * MIB]);
        assert_eq!(named(&figures, "validate.peak_rss").values, [48.0 * MIB]);
        assert_eq!(named(&figures, "validate.peak_rss").phase.as_deref(), Some("validate"));
        assert_eq!(named(&figures, "wall").values, [731e6]);
        assert_eq!(named(&figures, "profile.wall").values, [240e6]);
        assert_eq!(named(&figures, "cpu_time").values, [3.0 * 220e6]);
        assert_eq!(named(&figures, "memory_stall").values, [3.0 * 1500e3]);
        assert_eq!(named(&figures, "timing.mean").values, [902.375]);
        assert_eq!(named(&figures, "available_floor").direction, Direction::Higher);
        assert_eq!(named(&figures, "peak_pss").source, Some(Source::LowerBound));
    }

    #[test]
    fn one_phase_is_not_told_twice() {
        let figures = figures(&sample::command());
        assert!(figures.iter().all(|figure| figure.phase.is_none() && !figure.name.contains('.')), "{figures:?}");
        assert_eq!(named(&figures, "peak_rss").values, [48.0 * MIB]);
    }

    #[test]
    fn a_phase_that_comes_again_is_one_and_what_is_retained_is_of_the_last() {
        let mut record = sample::record();
        record.phases[2].phase = "validate".to_owned();
        for (at, phase) in record.phases.iter_mut().enumerate() {
            let mut reading = phase.readings[&Metric::PeakRss].clone();
            reading.bytes = ByteSize::mib(10 - at as u64);
            phase.readings.insert(Metric::RetainedRss, reading);
        }
        let figures = figures(&record);
        assert_eq!(named(&figures, "validate.peak_rss").values, [900.0 * MIB]);
        assert_eq!(named(&figures, "validate.wall").values, [480e6]);
        assert_eq!(named(&figures, "retained_rss").values, [8.0 * MIB]);
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let mut record = sample::record();
        record.phases[1].activity.cpu_user_ns = None;
        record.results.timing = None;
        for phase in &mut record.phases {
            phase.readings.remove(&Metric::PeakPss);
        }
        let figures = figures(&record);
        assert!(figures.iter().all(|figure| {
            !figure.name.ends_with("peak_pss") && figure.name != "cpu_time" && !figure.name.starts_with("timing.")
        }));
        assert_eq!(named(&figures, "profile.cpu_time").values, [220e6]);
    }

    #[test]
    fn repeats_give_a_value_each_and_the_weakest_source() {
        let mut other = sample::command();
        let reading = other.phases[0].readings.get_mut(&Metric::PeakRss).unwrap();
        (reading.bytes, reading.source) = (ByteSize::mib(50), Source::LowerBound);
        other.wall_ns = 2000;
        let figures = figures_of([&sample::command(), &other]);
        assert_eq!(named(&figures, "peak_rss").values, [48.0 * MIB, 50.0 * MIB]);
        assert_eq!(named(&figures, "peak_rss").source, Some(Source::LowerBound));
        assert_eq!(named(&figures, "wall").values, [731e6, 2000.0]);
        let repeated = sample::repeated();
        let figures = super::figures(&repeated);
        let walls: Vec<f64> = repeated.runs.iter().map(|run| run.wall_ns as f64).collect();
        assert_eq!(named(&figures, "wall").values, walls, "the time of the record is of all runs");
        assert_eq!(named(&figures, "peak_rss").values.len(), walls.len());
    }
}
