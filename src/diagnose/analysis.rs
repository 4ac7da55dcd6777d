//! [`Analysis`]: text in, findings out.

use std::collections::BTreeSet;

use super::batch::Told;
use super::classify::Passages;
use super::dump;
use super::event::{Described, event};
use super::findings::{Dismissal, Event, Findings, Form, InputReport, KnownBatch, SCHEMA};
use super::gather::Gathered;
use super::incident::{Class, Incident};
use super::phase;
use super::report::{Reported, Watched, gravity};
use super::said;
use super::scan::{Scanner, Sink, Window};
use super::shape::{self, Next, Shapes};
use super::sighting::{Cause, Sighting};
use super::snapshot::{Difference, SnapshotFindings};
use super::software::{self, Signs};
use super::stated::{self, Statement};
use super::telemetry::Position;
use super::verdict::{Kind, Verdict};
use super::window::Lines;
use super::wording::{self, recognise};
use crate::estimate::{Ladder, Rung};
use plimsoll_memory::bytes::ByteSize;

/// How many events are listed at most.
const LISTED: usize = 1000;

/// How many bytes of a window are searched for signs of software.
const MOST_SIGNS: usize = 64 << 10;

/// Reads texts piece by piece, in constant memory, and gathers the memory events in them.
///
/// ```
/// use plimsoll_diagnose::{Analysis, Kind, Verdict};
/// let mut analysis = Analysis::default();
/// analysis.begin("train.log");
/// analysis.push(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; ");
/// analysis.push(b"5.10 GiB already allocated; 1.20 GiB free; 8.40 GiB reserved in total by PyTorch)\n");
/// analysis.end();
/// let findings = analysis.findings(None);
/// assert_eq!((findings.kind, findings.verdict), (Kind::VramOom, Verdict::Fragmentation));
/// assert_eq!(findings.events[0].numbers.tried.unwrap().bytes(), 2 << 30);
/// ```
#[derive(Debug, Default)]
pub struct Analysis {
    scanner: Scanner,
    gathered: Gatherer,
    inputs: Vec<InputReport>,
    /// The telemetry of each input, by the input's position, in order.
    reported: Vec<(usize, Reported)>,
    /// What short inputs say of memory in the words of people, by the input's position, from 1.
    stated: Vec<(usize, Statement)>,
    /// The text of the current input, as long as it is short.
    whole: Option<Vec<u8>>,
    /// Events that records report in addition to failures.
    noted: Vec<Event>,
    /// Events that follow from the ends of commands alone.
    ended: Vec<Event>,
    /// The factors of the batch as the caller knows them.
    batch: KnownBatch,
    /// What the caller's configuration has taken of the ladder already.
    applied: Vec<Rung>,
    /// Findings of an earlier diagnosis, kept in a record.
    adopted: Vec<Findings>,
    snapshots: Vec<SnapshotFindings>,
    difference: Option<Difference>,
}

/// The part of an analysis that a scan feeds.
#[derive(Debug, Default)]
struct Gatherer {
    gathered: Gathered,
    told: Told,
    watched: Watched,
    shapes: Shapes,
    /// The shapes of lines that may mention memory.
    measured: Shapes,
    /// Signs of the running software at the beginning of the input.
    head: Signs,
    file: String,
    /// Whether the input says how something ended.
    ended: bool,
    /// The lines of the input that report nothing, as far as they are known.
    dismissed: Vec<u64>,
}

impl Analysis {
    /// Adds a memory snapshot that [`Snapshot`](super::snapshot::Snapshot) has read: its out-of-memory errors are
    /// events.
    pub fn add_snapshot(&mut self, snapshot: SnapshotFindings) {
        if let Some(report) = self.inputs.iter_mut().rfind(|report| report.name == snapshot.name) {
            report.bytes = snapshot.format.bytes;
        }
        self.snapshots.push(snapshot);
    }

    /// Adds what changed between two snapshots.
    pub fn add_difference(&mut self, difference: Difference) {
        self.difference = Some(difference);
    }

    /// Begins an input.
    pub fn begin(&mut self, name: &str) {
        self.scanner = Scanner::default();
        self.gathered.file = name.to_owned();
        self.gathered.watched = Watched::default();
        self.gathered.ended = false;
        self.gathered.dismissed.clear();
        self.gathered.shapes = Shapes::default();
        self.gathered.measured = Shapes::default();
        self.whole = Some(Vec::new());
        let report =
            InputReport { name: name.to_owned(), form: Form::Text, bytes: ByteSize::ZERO, lines: None, error: None };
        self.inputs.push(report);
    }

    /// Takes the next piece of the input.
    pub fn push(&mut self, bytes: &[u8]) {
        self.scanner.push(bytes, &mut self.gathered);
        self.whole = self.whole.take().filter(|text| text.len() + bytes.len() <= stated::LONGEST_TEXT);
        if let Some(text) = &mut self.whole {
            text.extend_from_slice(bytes);
        }
    }

    /// Treats the text so far as complete; call when a growing log pauses.
    pub fn settle(&mut self) {
        self.settled(false);
    }

    fn settled(&mut self, whole: bool) {
        self.scanner.settle(&mut self.gathered);
        if let Some(text) = self.whole.take_if(|_| whole) {
            let input = self.inputs.len();
            let lines = Lines::whole(&text);
            let mut stated = stated::read(&text, &lines);
            if stated.is_empty() && !self.gathered.ended {
                let passages = Passages::of(&lines);
                if !self.gathered.spoken(&text, &passages) {
                    stated.extend(stated::worded(&text, &passages));
                }
            }
            self.stated.extend(stated.into_iter().map(|statement| (input, statement)));
        }
        let Gatherer { watched, file, .. } = &mut self.gathered;
        if let Some(reported) = watched.report(file, whole) {
            let input = self.inputs.len();
            self.reported.retain(|(other, _)| *other != input);
            self.reported.push((input, reported));
        }
        if let Some(report) = self.inputs.last_mut().filter(|report| report.form == Form::Text) {
            let (bytes, lines) = self.scanner.counted();
            report.bytes = ByteSize::new(bytes);
            report.lines = Some(lines);
        }
    }

    /// Ends the input.
    pub fn end(&mut self) {
        self.settled(true);
    }

    /// Ends an input that could not be read any further.
    pub fn fail(&mut self, error: String) {
        self.settled(true);
        if let Some(report) = self.inputs.last_mut() {
            report.error = Some(error);
        }
    }

    /// Adds an event that a record reports in addition to its failures.
    pub fn note(&mut self, event: Event) {
        self.noted.push(event);
    }

    /// Sets the factors of the batch that the caller knows; they replace those that a text states.
    pub fn know_batch(&mut self, batch: KnownBatch) {
        self.batch = batch;
    }

    /// Sets the rungs that the caller's configuration has taken already: they are no advice.
    pub fn know_applied(&mut self, rungs: Vec<Rung>) {
        self.applied = rungs;
    }

    /// Adds the end of the command whose output was read. An end that the text explains is not a second event.
    pub fn ended(&mut self, event: Event) {
        self.ended.push(event);
    }

    /// Adds a text that looks like an event but is not one, or might not be one.
    pub fn dismiss(&mut self, dismissal: Dismissal) {
        self.gathered.gathered.dismissed.push(dismissal);
    }

    /// Adds the findings of an earlier diagnosis that a record of the command contains.
    pub fn adopt(&mut self, findings: Findings) {
        self.adopted.push(findings);
    }

    /// The report on the latest input, to add to.
    pub(crate) fn report(&mut self) -> Option<&mut InputReport> {
        self.inputs.last_mut()
    }

    /// The findings so far. With a ladder of the model, advice ends at the first rung that fits.
    pub fn findings(&self, ladder: Option<&Ladder>) -> Findings {
        let gathered = &self.gathered.gathered;
        let batch = self.batch.or(self.gathered.told.factors().unwrap_or_default());
        let batch = (batch != KnownBatch::default()).then_some(batch);
        let (pressed, incidents): (Vec<_>, Vec<_>) =
            gathered.finished().into_iter().partition(|incident| incident.class == Class::Pressure);
        let beyond = incidents.len().saturating_sub(LISTED) as u64 + gathered.omitted;
        let one = |incident: Incident| event(incident, batch.as_ref(), ladder);
        let described: Vec<Described> = incidents.into_iter().take(LISTED).map(one).collect();
        // The events of snapshots follow, and their inputs do not matter.
        let longest: Vec<bool> = described.iter().map(|described| described.may_be_longest).collect();
        let mut events: Vec<Event> = described.into_iter().map(|described| described.event).collect();
        events.extend(self.snapshots.iter().flat_map(|snapshot| dump::events(snapshot, batch.as_ref(), ladder)));
        let failed: BTreeSet<String> =
            events.iter().flat_map(|event| &event.evidence).map(|evidence| evidence.file.clone()).collect();
        for (_, reported) in &self.reported {
            let name = &reported.report.name;
            if failed.contains(name) {
                for (at, event) in events.iter_mut().enumerate() {
                    if event.evidence.iter().any(|one| one.file == *name) {
                        reported.explain(event, longest.get(at).copied().unwrap_or_default());
                    }
                }
            } else if !reported.in_passing {
                events.push(reported.event());
            }
        }
        for pressed in pressed {
            said::add(&mut events, one(pressed).event);
        }
        for (input, statement) in &self.stated {
            said::state(&mut events, &self.inputs[*input - 1].name, statement, &self.reported);
        }
        for event in &mut events {
            event.advice.retain(|advice| !self.applied.iter().any(|rung| advice.rung == Some(rung.number())));
        }
        events.extend(self.adopted.iter().flat_map(|found| &found.events).cloned());
        self.ended.iter().for_each(|ended| join(&mut events, ended));
        events.extend(self.noted.iter().cloned());
        let beyond = beyond + self.adopted.iter().filter_map(|found| found.omitted_events).sum::<u64>();
        let (kind, verdict) = match self.snapshots.is_empty() || !events.is_empty() {
            true => whole(&events),
            false => (Kind::Report, Verdict::ReportOnly),
        };
        Findings {
            schema: SCHEMA.to_owned(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            inputs: self.inputs.clone(),
            kind,
            verdict,
            events,
            omitted_events: (beyond > 0).then_some(beyond),
            dismissed: gathered
                .dismissed
                .iter()
                .chain(self.adopted.iter().flat_map(|found| &found.dismissed))
                .cloned()
                .collect(),
            batch: batch.or_else(|| self.adopted.iter().find_map(|found| found.batch)),
            telemetry: self
                .reported
                .iter()
                .filter(|(_, reported)| !reported.in_passing)
                .map(|(_, reported)| &reported.report)
                .chain(self.adopted.iter().flat_map(|found| &found.telemetry))
                .cloned()
                .collect(),
            snapshots: self.snapshots.clone(),
            snapshot_difference: self.difference.clone(),
        }
    }
}

impl Sink for Gatherer {
    fn wants(&mut self, shape: u64) -> bool {
        match self.shapes.next(shape) {
            Next::Read => return true,
            Next::Silent => {}
            Next::Counted(incident) => self.gathered.count(incident),
        }
        false
    }

    fn head(&mut self, text: &[u8]) {
        self.head = Signs::of(text);
    }

    fn window(&mut self, window: Window<'_>) {
        let lines = Lines::of(&window);
        let around = Signs::of(&window.bytes[..window.bytes.len().min(MOST_SIGNS)]);
        let mut found = Vec::new();
        for at in 0..lines.len() {
            if !lines[at].hot {
                continue;
            }
            let known = self.shapes.is_known(lines[at].shape);
            recognise(&lines, at, known, &mut found);
            let tells = found.iter().any(|sighting| sighting.cause.is_event());
            for mut sighting in found.drain(..) {
                if matches!(sighting.cause, Cause::Device | Cause::Library) {
                    phase::observe(&lines, at, &mut sighting);
                }
                sighting.asks = software::of(&sighting, around, self.head);
                // XLA has TensorFlow's allocator, and its messages.
                if sighting.asks.as_deref() == Some("jax") && sighting.backend.as_deref() == Some("tensorflow") {
                    sighting.backend = Some("xla".to_owned());
                }
                self.take(sighting);
            }
            self.shapes.read(lines[at].shape, tells, self.gathered.touched);
        }
    }

    fn factor(&mut self, line: &[u8]) {
        self.told.read(line);
    }

    fn measures(&mut self, offset: u64, shape: u64) -> bool {
        self.measured.measures(shape, offset)
    }

    fn telemetry(&mut self, position: Position, line: &[u8]) {
        let tells = self.watched.line(position, line);
        self.measured.measured(shape::of(line), tells);
    }
}

impl Gatherer {
    /// Takes what people say in a whole text in which no message of a program was found.
    fn spoken(&mut self, text: &[u8], passages: &Passages) -> bool {
        let Some(mut sighting) = wording::spoken(passages, &self.dismissed) else { return false };
        sighting.asks = software::of(&sighting, Signs::of(text), self.head);
        self.take(sighting);
        true
    }

    fn take(&mut self, mut sighting: Sighting) {
        match sighting.cause {
            Cause::Dismissed(_) if self.dismissed.len() < LISTED => {
                self.dismissed.extend(sighting.evidence.first().map(|evidence| evidence.line));
            }
            Cause::Dismissed(_) => {}
            _ => self.ended = true,
        }
        for evidence in &mut sighting.evidence {
            evidence.file.clone_from(&self.file);
        }
        self.gathered.add(sighting);
    }
}

/// Adds the end of a command to the events of its texts. A proven kill explains unproven ones and merges with the
/// kernel's report of the same kill; an unproven kill adds nothing if there is another reason.
fn join(events: &mut Vec<Event>, ended: &Event) {
    if ended.kind == Kind::SigkillUnattributed {
        if events.iter().all(|event| event.kind == Kind::Report) {
            events.push(ended.clone());
        }
        return;
    }
    events.retain(|event| event.kind != Kind::SigkillUnattributed);
    match events.iter_mut().find(|event| event.kind == ended.kind) {
        Some(event) => {
            event.numbers.fill(&ended.numbers);
            event.evidence.extend(ended.evidence.iter().cloned());
        }
        None => events.push(ended.clone()),
    }
}

/// Events at most this many lines apart belong to one story.
const STORY: u64 = 40;

/// How conclusive a kind is: a proven cause outweighs an unproven one.
fn weight(event: &Event) -> u8 {
    match event.verdict {
        _ if event.kind == Kind::Report => 0,
        Verdict::SigkillUnattributed => 1,
        Verdict::DataloaderWorkerKill => 2,
        // A kernel report cut off before its kill does not show whose limit was hit.
        Verdict::HostKill
            if event.backend.as_deref() == Some("linux") && event.pid.is_none() && event.victim.is_none() =>
        {
            2
        }
        // A failed allocation in the kernel hints at what the kernel did next.
        Verdict::HostAllocFail if event.backend.as_deref() == Some("linux") => 2,
        _ => 3,
    }
}

/// The kind and verdict of the whole document: the most frequent verdict of the weightiest events, `mixed` if their
/// kinds differ; the gravest trend if there are reports only.
fn whole(events: &[Event]) -> (Kind, Verdict) {
    let Some(heaviest) = events.iter().map(weight).max() else { return (Kind::None, Verdict::NotOom) };
    let heavy: Vec<&Event> = events.iter().filter(|event| weight(event) == heaviest).collect();
    let kind = heavy[0].kind;
    if kind == Kind::Report {
        let gravest = heavy.iter().map(|event| event.verdict).max_by_key(|verdict| gravity(*verdict));
        return (kind, gravest.unwrap_or(Verdict::ReportOnly));
    }
    if heavy.iter().any(|event| event.kind != kind) {
        // Events close together are one story: the proven kill explains it, otherwise the first event does. A full
        // device never kills anything on the host.
        let close = |event: &&&Event| {
            let (first, own) = (&heavy[0].evidence[0], &event.evidence[0]);
            first.file == own.file && first.line.abs_diff(own.line) <= STORY
        };
        let killed = heavy.iter().find(|event| matches!(event.kind, Kind::CgroupOom | Kind::HostOom | Kind::RayOom));
        let device = heavy.iter().any(|event| event.kind == Kind::VramOom);
        if !heavy.iter().all(|event| close(&event)) || (device && killed.is_some()) {
            return (kind, Verdict::Mixed);
        }
        let decisive = killed.unwrap_or(&heavy[0]);
        return (decisive.kind, decisive.verdict);
    }
    // Messages that state the memory or the limit of their device decide before those that do not.
    let told = |event: &&&Event| event.numbers.capacity.is_some() || event.numbers.allowed.is_some();
    let decided: Vec<&Event> = heavy.iter().filter(told).copied().collect();
    let heavy = if decided.is_empty() { heavy } else { decided };
    let count = |verdict| heavy.iter().filter(|event| event.verdict == verdict).count();
    // The first of the most frequent verdicts.
    let most = heavy.iter().map(|event| count(event.verdict)).max().unwrap_or(0);
    let verdict = heavy.iter().map(|event| event.verdict).find(|verdict| count(*verdict) == most);
    (kind, verdict.unwrap_or(heavy[0].verdict))
}
