//! [`Watched`]: the telemetry of one input, as a report and as an event.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use super::advice::{Known, advice};
use super::event::AT_THE_LONGEST;
use super::findings::{Event, Evidence, Numbers, TelemetryReport};
use super::remedy;
use super::sighting::quoted;
use super::telemetry::{Figure, Format, Metric, Position};
use super::trend::{Finding, Pattern, TrendVerdict as Trend, Trends, Watch};
use super::unfold::unfold;
use super::verdict::{Kind, Verdict};
use super::window::clean;

/// How many findings of an input are listed.
const LISTED: usize = 200;
/// How many lines are kept as evidence: this many of the first, and this many of the last.
const KEPT: usize = 2048;
/// How many bytes of a line are kept.
const LONGEST_LINE: usize = 2 << 10;

/// Watches the telemetry of an input.
#[derive(Debug, Default)]
pub(super) struct Watched {
    watch: Watch,
    /// Lines exactly as in the input.
    first: BTreeMap<Position, Box<[u8]>>,
    last: VecDeque<(Position, Vec<u8>)>,
}

impl Watched {
    /// Takes a line of telemetry, or a line shortly before one. Returns whether the line holds a figure.
    pub(super) fn line(&mut self, position: Position, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        // A collector's object or an escaped text may hold many lines; each is given one of its bytes as a position.
        let folded = text.trim_start().starts_with('{') || text.contains("\\n");
        let texts = if folded { unfold(&text).map(|it| it.texts) } else { None };
        let Some(texts) = texts.filter(|texts| texts.len() > 1) else { return self.one(position, &text, line) };
        let mut tells = false;
        for (offset, text) in (position.offset..).zip(&texts) {
            tells |= self.one(Position { offset, ..position }, text, text.as_bytes());
        }
        tells
    }

    fn one(&mut self, position: Position, text: &str, line: &[u8]) -> bool {
        let kept = &line[..line.len().min(LONGEST_LINE)];
        if self.first.len() < KEPT {
            self.first.insert(position, kept.into());
        } else {
            let full = self.last.len() == KEPT;
            let (_, mut place) = full.then(|| self.last.pop_front()).flatten().unwrap_or_default();
            place.clear();
            place.extend_from_slice(kept);
            self.last.push_back((position, place));
        }
        self.watch.line(position, text)
    }

    /// The report on the lines so far; `whole` if no more will come.
    pub(super) fn report(&mut self, name: &str, whole: bool) -> Option<Reported> {
        let trends = if whole { mem::take(&mut self.watch).finish() } else { self.watch.trends() };
        let trends = trends.filter(|trends| !trends.extent.is_empty())?;
        let in_passing = in_passing(&trends);
        let evidence = self.evidence(name, &trends);
        let mut report = TelemetryReport { name: name.to_owned(), trends, omitted_findings: None };
        let beyond = report.trends.findings.len().saturating_sub(LISTED);
        let event = event(&report.trends, evidence);
        report.trends.findings.truncate(LISTED);
        report.omitted_findings = (beyond > 0).then_some(beyond as u64);
        Some(Reported { report, event, in_passing })
    }

    /// The decisive lines, if they were kept.
    fn evidence(&self, name: &str, trends: &Trends) -> Vec<Evidence> {
        let of = |positions: &[Position]| -> Vec<Evidence> {
            let mut all: Vec<Evidence> = positions.iter().filter_map(|position| self.quote(name, *position)).collect();
            all.dedup();
            all
        };
        let told = decisive(trends).map(|finding| of(&finding.evidence)).unwrap_or_default();
        if told.is_empty() { of(&trends.extent) } else { told }
    }

    fn quote(&self, name: &str, position: Position) -> Option<Evidence> {
        let late = || {
            let at = self.last.binary_search_by_key(&position, |(at, _)| *at).ok()?;
            Some(&self.last[at].1[..])
        };
        let text = quoted(&clean(self.first.get(&position).map(AsRef::as_ref).or_else(late)?));
        Some(Evidence { file: name.to_owned(), line: position.line, offset: position.offset, text })
    }
}

/// Memory over time in one input.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    pub(super) report: TelemetryReport,
    /// The verdict as an event, used if there is no failure.
    event: Event,
    /// Whether there are so few figures that they are no telemetry by themselves.
    pub(super) in_passing: bool,
}

impl Reported {
    /// The report as a separate event.
    pub(super) fn event(&self) -> Event {
        self.event.clone()
    }

    /// Adds to `event`, a failure of the same input, the trends that led to it. If memory kept its level until then and
    /// the event `may_be_longest`, a longer input explains it.
    pub(super) fn explain(&self, event: &mut Event, may_be_longest: bool) {
        if may_be_longest
            && !event.also.contains(&Verdict::LongestBatch)
            && self.report.trends.findings.iter().any(|finding| keeps_its_level(finding, event))
        {
            event.also.push(Verdict::LongestBatch);
            event.explanation.push_str(AT_THE_LONGEST);
            event.advice.insert(0, remedy::OF_THE_LONGEST.into());
        }
        let mut told = Vec::new();
        for finding in &self.report.trends.findings {
            let verdict = Verdict::from(finding.verdict);
            if !told.contains(&verdict)
                && verdict != event.verdict
                && !event.also.contains(&verdict)
                && leads(finding, event)
            {
                event.explanation.push_str(&format!(" The log shows more ({verdict}): {}.", finding.explanation));
                told.push(verdict);
            }
        }
        if told.contains(&Verdict::Leak) {
            // Growth explains a late failure better than a long input does.
            event.also.retain(|also| *also != Verdict::LongestBatch);
            event.explanation = event.explanation.replace(AT_THE_LONGEST, "");
            let leak = Event { verdict: Verdict::Leak, ..self.event.clone() };
            event.advice.splice(0..0, advice(&leak, Known::default()));
        }
        event.also.extend(told);
    }
}

/// Whether `finding` shows that tensors held the same amount in many steps before the failure in `event`.
fn keeps_its_level(finding: &Finding, event: &Event) -> bool {
    const MANY_READINGS: u64 = 8;
    let still = matches!(finding.pattern, Pattern::Steady | Pattern::FirstStepOnly | Pattern::Plateau);
    let elsewhere = matches!((finding.worker.rank, event.rank), (Some(a), Some(b)) if a != b);
    let before = event.evidence.iter().any(|evidence| finding.evidence.iter().all(|at| at.line < evidence.line));
    matches!(finding.metric, Metric::Allocated | Metric::Reserved)
        && finding.verdict < Trend::Regression
        && still
        && finding.statistics.readings >= MANY_READINGS
        && before
        && !elsewhere
}

/// Whether `finding` leads to the failure in `event`.
fn leads(finding: &Finding, event: &Event) -> bool {
    let before = match (finding.evidence.first(), event.evidence.iter().map(|evidence| evidence.line).max()) {
        (Some(first), Some(line)) => first.line < line,
        _ => false,
    };
    let elsewhere = matches!((finding.worker.rank, event.rank), (Some(a), Some(b)) if a != b);
    let depends = finding.spread.is_some_and(|spread| spread.rank_dependent);
    before
        && !(elsewhere && depends)
        && match finding.verdict {
            Trend::Leak | Trend::ResidualGrowth | Trend::SleepIneffective => event.kind == Kind::VramOom,
            Trend::HostGrowth => {
                matches!(event.kind, Kind::HostOom | Kind::CgroupOom | Kind::RayOom | Kind::HostAllocFail)
            }
            Trend::CacheNotLeak => event.verdict == Verdict::Fragmentation,
            Trend::Fragmentation | Trend::NearCapacity => event.kind == Kind::VramOom,
            Trend::Regression | Trend::ReportOnly | Trend::VariesByRank | Trend::Inconclusive => false,
        }
}

/// Whether there is nothing but one figure, or two of the host, as anybody prints them: they show no course.
fn in_passing(trends: &Trends) -> bool {
    let of_host = |metric| matches!(metric, Metric::HostUsed | Metric::HostPeak | Metric::HostFree);
    let few = |finding: &Finding| {
        finding.verdict == Trend::ReportOnly
            && finding.format == Format::Plain
            && finding.statistics.readings <= if of_host(finding.metric) { 2 } else { 1 }
    };
    !trends.findings.is_empty() && trends.findings.iter().all(few)
}

/// Whether the allocator itself counted errors.
fn counted(trends: &Trends) -> bool {
    trends.ooms.is_some_and(|ooms| ooms > 0)
}

/// The decisive finding: the gravest, and among equals the one with most memory allocated.
fn decisive(trends: &Trends) -> Option<&Finding> {
    let counted = counted(trends);
    let rank = |finding: &&Finding| {
        // In a failure, the allocator's own report decides.
        let failed = counted && matches!(finding.verdict, Trend::NearCapacity | Trend::Fragmentation);
        (failed, finding.verdict, finding.metric == Metric::Allocated, finding.statistics.last, finding.metric)
    };
    trends.findings.iter().max_by_key(rank)
}

/// The event for `trends` if nothing failed.
fn event(trends: &Trends, evidence: Vec<Evidence>) -> Event {
    let decisive = decisive(trends);
    let worker = decisive.map(|finding| finding.worker).unwrap_or_default();
    let gravest =
        trends.formats.iter().filter(|(format, _)| **format != Format::StepTime).max_by_key(|(_, count)| **count);
    let format = decisive.map(|finding| finding.format).or(gravest.map(|(format, _)| *format));
    let mut also: Vec<Verdict> =
        [trends.verdict].iter().chain(&trends.also).map(|verdict| Verdict::from(*verdict)).collect();
    // Errors that the allocator counted did happen, even if their message is not in the log.
    let counted = counted(trends);
    let (kind, verdict) = match counted {
        true if also.contains(&Verdict::Fragmentation) => (Kind::VramOom, Verdict::Fragmentation),
        true => (Kind::VramOom, Verdict::Capacity),
        false => (Kind::Report, trends.verdict.into()),
    };
    also.retain(|also| *also != verdict && !(counted && matches!(also, Verdict::NearCapacity | Verdict::ReportOnly)));
    let mut event = Event {
        kind,
        backend: None,
        software: counted.then(|| "pytorch".to_owned()),
        verdict,
        also,
        numbers: decisive.map(|finding| numbers(finding, trends)).unwrap_or_default(),
        evidence,
        occurrences: trends.samples,
        rank: worker.rank,
        pid: worker.pid,
        job: None,
        device: worker.device,
        host: None,
        victim: format.map(|format| format.title().to_owned()),
        advice: Vec::new(),
        explanation: explanation(decisive, trends),
    };
    event.advice = advice(&event, Known::default());
    event
}

fn numbers(finding: &Finding, trends: &Trends) -> Numbers {
    let told = |metric| {
        let Figure { bytes, resolution } = *finding.latest.get(&metric)?;
        // PyTorch's table rounds down: a printed figure is the lower end.
        Some(if finding.format == Format::MemorySummary { bytes.saturating_sub(resolution) } else { bytes })
    };
    let (allocated, reserved) = (told(Metric::Allocated), told(Metric::Reserved));
    let in_pieces = finding.verdict == Trend::Fragmentation;
    Numbers {
        allocated,
        reserved,
        unallocated: reserved.zip(allocated).filter(|_| in_pieces).map(|(all, used)| all.saturating_sub(used)),
        capacity: trends.device_total,
        ..Numbers::default()
    }
}

fn explanation(decisive: Option<&Finding>, trends: &Trends) -> String {
    let counted = counted(trends);
    let mut text = match trends.verdict {
        _ if counted => "Device memory ran out:".to_owned(),
        Trend::ReportOnly if decisive.is_some_and(|finding| finding.pattern == Pattern::Growing) => {
            "Telemetry without a failure, and nothing that proves a leak".to_owned()
        }
        Trend::ReportOnly => "Telemetry without a failure, and nothing wrong in it".to_owned(),
        _ => "No failure, but".to_owned(),
    };
    if let Some(finding) = decisive {
        let mark = if trends.verdict == Trend::ReportOnly { ": " } else { " " };
        text.push_str(&format!("{mark}{}", finding.explanation));
    }
    text.push('.');
    text
}

/// The rank of a verdict among reports: the gravest trend decides.
pub(super) fn gravity(verdict: Verdict) -> usize {
    const ORDER: [Verdict; 12] = [
        Verdict::ReportOnly,
        Verdict::VariesByRank,
        Verdict::CacheNotLeak,
        Verdict::Inconclusive,
        Verdict::ProcessCap,
        Verdict::NearCapacity,
        Verdict::Fragmentation,
        Verdict::Regression,
        Verdict::HostGrowth,
        Verdict::Leak,
        Verdict::ResidualGrowth,
        Verdict::SleepIneffective,
    ];
    ORDER.iter().position(|one| *one == verdict).unwrap_or(0)
}
