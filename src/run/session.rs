//! [`run`], [`run_against`], [`versus`]: the phases of a run, implemented by [`Run`].

use std::borrow::Cow;
use std::time::{Instant, SystemTime};

use crate::record::{
    Aggregation, AuditSemantics, CaptureSemantics, EntryResult, EntrySemantics, Pairs, Record, ReleaseReason, Results,
    Rows, Verdict, Versus, VersusSemantics,
};
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::PlaceKind;
use plimsoll_capture::store::ObjectVerifier;
use plimsoll_capture::{Capture, Residency};
use plimsoll_memory::meter::{Meter, SystemInfo};

use super::audited::witness_of;
use super::entries::Entries;
use super::error::RunError;
use super::launcher::{Launcher, Launchers};
use super::manifest::Manifest;
use super::node::Node;
use super::observer::{Observer, Phase};
use super::operators::Operators;
use super::options::Options;
use super::plan::{Grouping, Plan};
use super::profile::profile;
use super::side::Side;
use super::validate::validate;
use super::verdicts::{self, Tally};
use super::versus::{Turns, all_entries};
use super::watch::{SoFar, Watch};

/// Runs `options` on `capture` with the kernel of `launcher`, metered by `meter`, and returns the record.
///
/// The meter is finished here; its phases are those of [`Phase`], and its limits are judged. An interruption
/// ([`Observer::cancelled`]) also ends in a record, whose state says so.
///
/// # Errors
/// [`RunError`]; nothing was launched if the batches could not be planned.
pub fn run(
    capture: &Capture,
    launcher: &mut dyn Launcher,
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    Run::of(capture, launcher, meter, options, observer).record()
}

/// As [`run`], but outputs of validated entries are compared with the reference's for the same arguments, if there is
/// one. Timed outputs are compared with the captured ones.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    capture: &Capture,
    launchers: Launchers<'_, '_>,
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let Launchers { kernel, reference } = launchers;
    let mut run = Run::of(capture, kernel, meter, options, observer);
    if let Some(reference) = reference {
        run = run.against(reference);
    }
    run.record()
}

/// Runs `options` on `capture` with the kernels of two launchers: the record belongs to the first, which is compared
/// with the second.
///
/// Every entry is measured in pairs: the whole protocol with one kernel, then with the other, each first in every other
/// pair, so that drift affects both. Each measurement is judged as in [`run`]. Both workers are alive meanwhile, with
/// that one entry. Every pair has fresh workers: the memory layout of a process makes it faster or slower for its whole
/// life, and repeated pairs of the same two processes would mistake that for a difference of the kernels.
///
/// # Errors
/// As for [`run`].
pub fn versus(
    capture: &Capture,
    launchers: &mut [&mut dyn Launcher; 2],
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let [kernel, other] = launchers;
    Run::of(capture, &mut **kernel, meter, options, observer).in_turns_with(&mut **other).record()
}

/// How the entries of a run are timed: the only difference between runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    /// Not at all: the run only validates.
    Never,
    /// One kernel, batch by batch.
    Batched,
    /// Two kernels in turns, entry by entry.
    InTurns,
}

impl Timing {
    /// The phase that entries are timed in.
    pub fn phase(self) -> Option<Phase> {
        match self {
            Self::Never => None,
            Self::Batched => Some(Phase::Profile),
            Self::InTurns => Some(Phase::Versus),
        }
    }
}

/// A run on a capture.
pub(super) struct Run<'a> {
    pub capture: &'a Capture,
    pub options: &'a Options,
    pub meter: &'a Meter,
    pub observer: &'a mut dyn Observer,
    /// The kernel of the record; in turns also the kernel that it is compared with.
    pub sides: Vec<Side<'a>>,
    /// The kernel whose outputs validated entries should have; absent if those are the captured outputs.
    pub reference: Option<&'a mut dyn Launcher>,
    /// The implementations of the operator that an audit without a reference may choose from.
    pub operators: Operators<'a>,
    verifier: ObjectVerifier,
    /// The known facts, for an observer that keeps them.
    pub so_far: SoFar,
    /// The other shards of the node, if this is a shard.
    pub node: Option<Node>,
    pub started: SystemTime,
    pub clock: Instant,
}

impl<'a> Run<'a> {
    /// A run that begins now.
    pub fn of(
        capture: &'a Capture,
        launcher: &'a mut dyn Launcher,
        meter: &'a Meter,
        options: &'a Options,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            capture,
            options,
            meter,
            observer,
            sides: vec![Side { launcher, witness: None, results: Rows::default() }],
            reference: None,
            operators: Operators::default(),
            verifier: ObjectVerifier::new(options.verify),
            so_far: SoFar::default(),
            node: None,
            started: SystemTime::now(),
            clock: Instant::now(),
        }
    }

    /// Compares validated outputs with those of `reference`.
    pub fn against(mut self, reference: &'a mut dyn Launcher) -> Self {
        self.reference = Some(reference);
        self
    }

    /// Times the kernel in turns with `other`.
    pub fn in_turns_with(mut self, other: &'a mut dyn Launcher) -> Self {
        self.sides.truncate(1);
        self.sides.push(Side { launcher: other, witness: None, results: Rows::default() });
        self
    }

    /// Uses these witnesses of audited launches, one for each side, if there is no reference.
    pub fn witnessed_by(mut self, witnesses: impl IntoIterator<Item = &'a mut dyn Launcher>) -> Self {
        for (side, witness) in self.sides.iter_mut().zip(witnesses) {
            side.witness = Some(witness);
        }
        self
    }

    /// Lets audits choose their reference among these, if there is no other.
    pub fn choosing_from(mut self, operators: Operators<'a>) -> Self {
        self.operators = operators;
        self
    }

    /// Runs every phase, and returns the record.
    ///
    /// # Errors
    /// [`RunError`]; nothing was launched if the batches could not be planned.
    pub fn record(mut self) -> Result<Record, RunError> {
        let first = if self.options.validate { Some(Phase::Validate) } else { self.timing().phase() };
        self.meter.phase(first.unwrap_or(Phase::Profile).name());
        let mut manifest = Manifest::default();
        let mut plan = self.plan(manifest.read(self.capture, self.options.digest))?;
        let mut semantics = self.semantics(&manifest.semantics);
        let share = self.options.share.as_ref();
        self.node = share.map(|share| Node::join(share, &|| self.observer.cancelled())).transpose()?;
        let system = SystemInfo::read()?;
        if self.observer.keeps().is_some() {
            self.so_far = SoFar::of(self.blank(semantics.without_entries(), system.clone()));
        }
        for side in &mut self.sides {
            side.results = no_results(&manifest.semantics);
        }
        let rule = semantics.comparison.as_ref();
        if let Some(rule) = rule {
            self.validate(&manifest, rule);
        }
        let pairs = self.time(&manifest, &mut plan, rule)?;
        self.name_kernels(&mut semantics);
        let phases = self.meter.finish();
        self.verifier.remember();
        let results = self.results(semantics.aggregation, pairs);
        let verdicts = self.verdicts(&results);
        Ok(self.document(semantics, system, plan.into_batches(), phases, results, verdicts))
    }

    /// How entries are timed.
    pub fn timing(&self) -> Timing {
        match (self.sides.len(), self.options.profile) {
            (2.., _) => Timing::InTurns,
            (_, true) => Timing::Batched,
            (_, false) => Timing::Never,
        }
    }

    /// The batches in which entries are timed; `residencies` returns what each has resident.
    fn plan(&self, residencies: impl Iterator<Item = Residency>) -> Result<Plan<'a>, RunError> {
        let on_device = self.sides[0].launcher.place() != PlaceKind::Cpu;
        let grouping = match self.timing() {
            // Two workers with a batch each would hold it twice.
            Timing::InTurns => Grouping::Alone,
            // The launches of a validation show the kernel's device memory; else that of the first entry does.
            _ if on_device && !self.options.validate => Grouping::FirstAlone,
            _ => Grouping::Together,
        };
        if self.timing() == Timing::Never {
            residencies.for_each(drop);
            return Plan::new(std::iter::empty(), self.capture, self.options, grouping);
        }
        Plan::new(residencies, self.capture, self.options, grouping)
    }

    /// The subject of the run.
    fn semantics(&self, entries: &Rows<EntrySemantics>) -> CaptureSemantics {
        let options = self.options;
        let kernel = &self.sides[0].launcher;
        let operator = self.capture.function_name().to_owned();
        let rule = || options.comparison.unwrap_or_else(|| Comparison::for_operator(&operator));
        let timed = self.timing() != Timing::Never;
        let versus = self.sides.get(1);
        CaptureSemantics {
            comparison: options.validate.then(rule),
            operator,
            entries: entries.clone(),
            kernel: kernel.kernel(),
            device: kernel.place(),
            graph: timed && kernel.replays(),
            reference: self.reference.as_ref().map(|reference| reference.kernel()),
            mutates: options.mutates.clone(),
            timing: timed.then_some(options.protocol),
            audit: options
                .audit
                .as_ref()
                .filter(|_| timed)
                .map(|audit| AuditSemantics { constant: audit.constant.clone(), untrusted: self.is_isolated() }),
            aggregation: timed.then(|| Aggregation::of(options.protocol)),
            versus: versus.map(|side| VersusSemantics { kernel: side.launcher.kernel(), pairs: options.pairs }),
        }
    }

    /// Whether the kernels lack rights of their user.
    fn is_isolated(&self) -> bool {
        self.sides.iter().all(|side| side.launcher.isolation().is_some())
    }

    /// Identifies the kernels by all their files, which are known once they were loaded, built and launched.
    fn name_kernels(&self, semantics: &mut CaptureSemantics) {
        semantics.kernel = self.sides[0].launcher.kernel();
        semantics.reference = self.reference.as_ref().map(|reference| reference.kernel());
        if let (Some(versus), Some(side)) = (&mut semantics.versus, self.sides.get(1)) {
            versus.kernel = side.launcher.kernel();
        }
    }

    /// Launches and judges every entry with each kernel, one kernel after the other.
    fn validate(&mut self, manifest: &Manifest, rule: &Comparison) {
        let planned = &*manifest.planned;
        let timing = self.timing();
        let reason = if timing == Timing::Never { ReleaseReason::Finished } else { ReleaseReason::BeforeProfiling };
        for side in &mut self.sides {
            self.observer.phase(Phase::Validate, planned.len());
            let by_name = side.launcher.by_name();
            let mut entries = Entries { capture: self.capture, planned, verifier: &mut self.verifier, by_name };
            let reference = self.reference.as_mut().map(|reference| &mut **reference as &mut dyn Launcher);
            let mut launchers = Launchers { kernel: &mut *side.launcher, reference };
            let observer = &mut *self.observer;
            let (entries_of, so_far) = (&manifest.semantics, &mut self.so_far);
            let mut watch = Watch { observer, meter: self.meter, entries: entries_of, so_far, node: None };
            validate(&mut entries, planned, rule, &mut launchers, self.options, &mut watch, &mut side.results);
            // Only the first side is kept.
            if timing == Timing::InTurns {
                self.so_far = SoFar::default();
            }
            // In turns a worker is replaced when it ends, so no phase could show its memory as released.
            if timing != Timing::InTurns {
                self.meter.phase(Phase::Release.name());
                self.observer.phase(Phase::Release, 0);
            }
            if let Some(reference) = &mut self.reference {
                reference.end_worker(ReleaseReason::Finished);
            }
            side.launcher.end_worker(reason);
        }
    }

    /// Times every entry, and returns the pairs of each if kernels take turns.
    fn time(
        &mut self,
        manifest: &Manifest,
        plan: &mut Plan<'_>,
        rule: Option<&Comparison>,
    ) -> Result<Rows<Pairs>, RunError> {
        let planned = &*manifest.planned;
        let timing = self.timing();
        let Some(phase) = timing.phase() else { return Ok(Rows::default()) };
        let options = self.options;
        if options.validate {
            self.meter.phase(phase.name());
        }
        if let Some(node) = &mut self.node {
            node.begin_timing(&|| self.observer.cancelled())?;
        }
        let rounds = if timing == Timing::InTurns { options.pairs.get() as usize } else { 1 };
        self.observer.phase(phase, self.capture.names().len() * rounds);
        self.sides.iter().for_each(|side| plan.learn(&side.results));
        let by_name = self.sides[0].launcher.by_name();
        let mut entries = Entries { capture: self.capture, planned, verifier: &mut self.verifier, by_name };
        let observer = &mut *self.observer;
        let pairs = match &mut self.sides[..] {
            [own, other] => {
                let witnesses = (&mut self.reference, &mut self.operators);
                Turns::new(rule, options, plan).all(&mut entries, [own, other], witnesses, observer)
            }
            sides => {
                let (so_far, node) = (&mut self.so_far, self.node.as_mut());
                let mut watch = Watch { observer, meter: self.meter, entries: &manifest.semantics, so_far, node };
                for Side { launcher, witness, results } in sides {
                    let mut witness = witness_of(&mut self.reference, witness, &mut self.operators);
                    let launchers: (&mut dyn Launcher, _) = (&mut **launcher, witness.as_mut());
                    profile(&mut entries, plan, rule, launchers, options, &mut watch, results);
                }
                Rows::default()
            }
        };
        for side in &mut self.sides {
            side.launcher.end_worker(ReleaseReason::Finished);
            side.witness.iter_mut().for_each(|witness| witness.end_worker(ReleaseReason::Finished));
        }
        self.reference.iter_mut().for_each(|reference| reference.end_worker(ReleaseReason::Finished));
        self.operators.launchers().for_each(|operator| operator.end_worker(ReleaseReason::Finished));
        self.node.iter_mut().for_each(Node::end_timing);
        Ok(pairs)
    }

    /// What became of the entries.
    fn results(&mut self, aggregation: Option<Aggregation>, pairs: Rows<Pairs>) -> Results {
        let mut sides = self.sides.iter_mut().map(|side| {
            let entries = std::mem::take(&mut side.results);
            let timing = aggregation.and_then(|how| how.aggregate(&entries));
            (entries, timing)
        });
        let (entries, timing) = sides.next().unwrap_or_default();
        let versus = sides.next().map(|(entries, timing)| {
            let speedup = all_entries(&pairs);
            Versus { timing, entries, pairs, speedup }
        });
        Results { entries, timing, versus }
    }

    /// The verdicts on results. Verdicts on workers and ceilings come after them.
    fn verdicts(&self, results: &Results) -> Vec<Verdict> {
        let own = (&results.entries, "validation", "profile");
        let other = results.versus.as_ref().map(|versus| (&versus.entries, "versus validation", "versus profile"));
        let mut verdicts = Vec::new();
        for (entries, validation, profile) in [own].into_iter().chain(other) {
            let tally = Tally::of(entries);
            if self.options.validate {
                verdicts.push(tally.validation(validation));
            }
            if self.timing() != Timing::Never {
                verdicts.push(tally.profile(profile));
            }
        }
        if let (Some(least), Some(versus), Some(other)) = (self.options.min_speedup, &results.versus, self.sides.get(1))
        {
            verdicts.push(verdicts::speedup(versus.speedup.as_ref(), least, &other.launcher.kernel().name));
        }
        verdicts
    }
}

/// A place for the result of each entry.
fn no_results(entries: &Rows<EntrySemantics>) -> Rows<EntryResult> {
    let result = |(index, entry): (usize, Cow<'_, EntrySemantics>)| EntryResult {
        index,
        name: entry.name.clone(),
        validation: None,
        profile: None,
    };
    entries.iter().enumerate().map(result).collect()
}
