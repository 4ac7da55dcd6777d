//! [`audit`]: times a kernel on values that it cannot know, judges its outputs afterwards, and checks its times against
//! the caller's clock.
//!
//! Every launch of an audit, warm-ups included, finds other values in its arguments ([`Fresh`]). Its output is copied
//! when it returns. After a region of launches, some of its outputs are chosen at random and compared with a witness's
//! outputs for the same values: the reference, or the kernel itself in a process that times nothing. The captured
//! values occur among the others, unannounced, and are compared with the captured output. docs/integrity.md has the
//! promise.

mod accepted;
mod chance;
mod change;
mod choice;
mod floats;
mod fresh;
mod kept;
mod noise;
mod order;
mod renewal;
mod standing;
mod taken;
mod times;
mod unit;
mod verdicts;
mod wrong;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Audit, Failure, FailureKind, Values};
use plimsoll_capture::MappedEntry;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::timing::Samples;

use super::launcher::{Contents, Job, Launcher, Region, Wanted};
use super::operators::Chosen;
use super::options::AuditOptions;
use super::output::Output;
use chance::Chance;
use choice::{JUDGED, KINDS, REPEATED, Recurs};
use fresh::Fresh;
use kept::{captured_bytes, is_empty, mutated_contents};
use noise::Allowed;
use renewal::Renewal;
use standing::Standing;

/// Launches at the start of a region that are judged but not counted: the worker has waited before them.
const LEAD_IN: usize = 4;
/// Launches at the end of a region that are judged but not counted: the worker answers after them.
const LEAD_OUT: usize = 1;
/// The most bytes of values, and of kept outputs, in one region.
const REGION_BYTES: usize = 64 << 20;
/// After this many regions that do not fit the clock, one output of four is copied.
const SEVERAL: u32 = 8;
const KEPT_OF: usize = 4;
/// The fill of the witness's outputs.
const WITNESS_FILL: u8 = 0xff;

/// The subject of an audit.
#[derive(Clone, Copy)]
pub(super) struct Audition<'a> {
    pub job: Job<'a>,
    /// The call as the witness gets it.
    pub witnessed: Job<'a>,
    /// The name of the witness; absent if that is the kernel itself.
    pub reference: Option<&'a str>,
    /// The witness, if the audit has chosen it by itself: it accuses no kernel if it cannot decide.
    pub chosen: Option<&'a Chosen>,
    pub options: &'a AuditOptions,
    pub mutates: &'a [String],
    pub rule: &'a Comparison,
    /// Whether `rule` would pass the right output in half precision.
    pub passes_half: bool,
    /// Whether the kernel's output for the captured values has been found right.
    pub validated: bool,
    pub warmup: u32,
    pub launches: u32,
}

impl Audition<'_> {
    /// Whether somebody has named the kernel that computes what is right.
    fn is_referenced(&self) -> bool {
        self.reference.is_some() && self.chosen.is_none()
    }

    /// Notes that a chosen reference cannot decide.
    fn gives_up(&self, why: &str) {
        self.chosen.iter().for_each(|chosen| chosen.gives_up(why));
    }
}

/// The result of an audit.
pub(super) struct Outcome {
    pub durations_ns: Vec<f64>,
    pub audit: Audit,
    pub mutated: Vec<String>,
    /// A wrong output that the comparison would pass, in words.
    pub passes: Option<String>,
}

/// Audits a kernel on one entry. `itself` is the kernel in a process that times nothing, if it is not the witness.
///
/// # Errors
/// The kernel's fault: `time-mismatch`, `stale-output`, `unwritten-output`, or any failure of a launch. It says nothing if a
/// chosen reference has given up.
pub(super) fn audit(
    kernel: &mut dyn Launcher,
    witness: &mut dyn Launcher,
    mut itself: Option<&mut dyn Launcher>,
    audition: &Audition<'_>,
) -> Result<Outcome, Failure> {
    // Both start meanwhile.
    kernel.start_early();
    witness.start_early();
    let mapped = audition.job.entry.map()?;
    let mut refused = None;
    let allowed = audition.options.allows_blind(audition.job.entry.name()) || is_empty(audition.job.entry);
    let refuses = Cell::new(false);
    for values in [Values::All, Values::Floats, Values::Nearby, Values::Captured] {
        refuses.set(false);
        let fresh = Fresh::of(audition.job.bound, &mapped, &audition.options.constant, audition.mutates, values)?;
        if values != Values::Captured && fresh.is_empty() {
            continue;
        }
        let mut course = Course::new(audition, &mapped, fresh, values, &refuses);
        // Kept results of captured values are right, so these alone show nothing, whoever computes them.
        if values == Values::Captured && !allowed {
            audition.gives_up("it accepts no other values than the captured ones");
            course.right_untimed(witness)?;
            return Err(refused.unwrap_or_else(|| only_captured(audition.job.entry.name())));
        }
        // The operator may not accept values in another order: the kernel does not get values that the witness refuses.
        if values != Values::Captured {
            match course.witnessed(witness) {
                Err(failure) if failure.kind == FailureKind::Cancelled => return Err(failure),
                Err(_) => continue,
                Ok(_) => {}
            }
        }
        if let Some(itself) = &mut itself {
            course.right_untimed(&mut **itself)?;
        }
        match course.run(kernel, witness) {
            // The operator accepts what a reference accepts, a named one or its own implementation.
            Err(failure) if values != Values::Captured && may_be_of_values(failure.kind) => {
                if audition.reference.is_some() && !refuses.get() {
                    return Err(accepted_elsewhere(failure));
                }
                refused = Some(failure);
            }
            done => return done,
        }
    }
    Err(refused.expect("captured values are tried last, and decide"))
}

/// Whether a kernel may fail this way on values in another order, for which it was not made.
fn may_be_of_values(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Exception | FailureKind::Signal | FailureKind::Unsupported)
}

/// The failure of a kernel on values that its reference accepts; other verdicts of the audit say themselves what they are of.
fn accepted_elsewhere(failure: Failure) -> Failure {
    if failure.kind == FailureKind::Unsupported {
        return failure;
    }
    let message = format!(
        "{} (on values that the supervisor drew, and that the reference of the audit accepts; if the kernel is for such values \
         of an argument as were captured alone, name it with --constant)",
        failure.message
    );
    Failure { message, ..failure }
}

/// What is known of one output.
#[derive(Default)]
struct Followed {
    /// Whether it was another than the captured one for other values.
    follows: bool,
    /// Whether the comparison has rejected the captured one then.
    distinguished: bool,
}

/// The failure of an entry of which no other values could be drawn.
fn only_captured(name: &str) -> Failure {
    let message = format!(
        "no values but the captured ones could be put into the arguments: all are constant, or the operator refuses others, \
         so that nothing shows whether the kernel computes or has kept its results; allow it with --allow-blind {name}"
    );
    Failure::new(FailureKind::Unsupported, message)
}

/// The course of an audit at one level of values.
struct Course<'a> {
    audition: &'a Audition<'a>,
    mapped: &'a MappedEntry,
    fresh: Fresh<'a>,
    /// The large storages in which all elements change at once in some launches, and how long these take.
    renewing: Vec<usize>,
    renewal: Renewal,
    chance: Chance,
    audit: Audit,
    /// The contents of the witness's arguments.
    witnessed: Standing,
    /// What other values have shown of each output.
    leaves: BTreeMap<String, Followed>,
    /// How many judged launches had another output than the captured one, by the comparison.
    telling: usize,
    /// What the kernel changes besides its outputs.
    contents: Vec<Contents>,
    /// What it should have left there first.
    left: Option<Vec<u8>>,
    /// How much the reports of the counted launches could hide, and how many these are.
    beside_ns: f64,
    counted: usize,
    /// How often regions are half as long.
    halvings: u32,
    /// Regions during which the caller was stopped.
    stops: u32,
    /// Regions whose launches lie elsewhere by the caller's clock.
    misplaced: u32,
    /// How many launches were judged because a part of their values recurs.
    beside: usize,
    /// The storages that have changed by themselves in a judged launch.
    alone: BTreeSet<usize>,
    /// How many launches were judged whose values are nearly the captured ones.
    nearly: usize,
    /// Whether the witness has refused values that a launch had.
    refuses: &'a Cell<bool>,
    /// Whether an output has passed that is no nearer to the reference's than half precision.
    in_half: bool,
    /// How far outputs may be from those of a reference that nobody named.
    allowed: BTreeMap<String, Allowed>,
}

impl<'a> Course<'a> {
    fn new(
        audition: &'a Audition<'a>,
        mapped: &'a MappedEntry,
        fresh: Fresh<'a>,
        values: Values,
        refuses: &'a Cell<bool>,
    ) -> Self {
        Self {
            audition,
            mapped,
            renewing: fresh.renewing(),
            renewal: Renewal::default(),
            fresh,
            chance: Chance::default(),
            audit: Audit::of(values, audition.reference),
            witnessed: Standing::default(),
            leaves: BTreeMap::new(),
            telling: 0,
            contents: mutated_contents(audition.job.bound, audition.mutates),
            left: None,
            beside_ns: 0.0,
            counted: 0,
            halvings: 0,
            stops: 0,
            misplaced: 0,
            beside: 0,
            alone: BTreeSet::new(),
            nearly: 0,
            refuses,
            in_half: false,
            allowed: BTreeMap::new(),
        }
    }

    fn run(mut self, kernel: &mut dyn Launcher, witness: &mut dyn Launcher) -> Result<Outcome, Failure> {
        self.right_untimed(witness)?;
        let wanted = self.audition.launches as usize;
        // The first region shows where outputs are: a worker may have computed them in any order.
        let warmup = (self.audition.warmup as usize).max(1);
        let mut kernel = kernel.audit(self.audition.job)?;
        let mut witness = witness.audit(self.audition.witnessed).inspect_err(|failure| {
            self.audition.gives_up(&failure.message);
        })?;
        let mut overhead = kernel.overhead();
        let (mut durations, mut warmed) = (Vec::new(), 0);
        let mut bytes = captured_bytes(self.audition.job.entry);
        let mut asked = Vec::new();
        while durations.len() < wanted || self.needs_more() {
            // No more launches than wanted, plus those on captured values.
            let missing = match warmup.saturating_sub(warmed) {
                0 => (wanted - durations.len().min(wanted)) * KINDS / (KINDS - REPEATED) + 1,
                cold => cold.saturating_sub(LEAD_IN).max(1),
            };
            let limit = (REGION_BYTES / (bytes + self.fresh.bytes()).max(1)).max(1);
            let room = (REGION_BYTES / bytes.max(1)).max(2);
            // Copying and judging a large output takes longer than launches: enough are judged if a region keeps some.
            let for_kept = (wanted * room / JUDGED).min(REGION_BYTES / self.fresh.bytes().max(1));
            let most = (wanted.min(limit.max(for_kept)) >> self.halvings).max(1);
            let counted = (most - self.chance.below(most.div_ceil(2))).min(missing);
            let pair = self.pair(LEAD_IN);
            let (before, launches, recurring) = self.launches(LEAD_IN + counted + LEAD_OUT, pair);
            let counted = LEAD_IN..LEAD_IN + counted;
            // All, or as many as fit. An output whose elements lie in another order takes longer to copy than is allowed for.
            let few = if self.audit.misfits < SEVERAL { launches.len() } else { launches.len().div_ceil(KEPT_OF) };
            let room = room.min(few);
            let keep = (room < launches.len()).then(|| self.chance.some(launches.len(), room));
            // Not 0, which kernels write.
            let fill = 1 + (self.chance.word() % 255) as u8;
            let wanted_of = Wanted { keep: keep.as_deref(), fill, contents: &self.contents };
            let region = match kernel.region(&launches, &wanted_of) {
                Ok(region) => region,
                Err(failure) => {
                    if may_be_of_values(failure.kind) {
                        self.ask_of_refused(&mut *witness, before, &launches);
                    }
                    return Err(failure);
                }
            };
            let kept = keep.as_ref().map_or(launches.len(), Vec::len);
            let answered = [region.durations_ns.len(), region.spans.len()];
            if answered != [launches.len(); 2] || region.outputs.len() != kept {
                let message = "the worker answered for a different number of launches than requested";
                return Err(Failure::new(FailureKind::ChannelClosed, message));
            }
            bytes = output_bytes(&region);
            let judged = self.chosen(&region, keep.as_deref(), &recurring)?;
            let fits = self.fits(&region, &mut overhead, &launches, counted.clone(), (bytes, keep.is_some()))?;
            pair.into_iter().for_each(|pair| self.renewal.note(&region, pair));
            self.audit.regions += 1;
            self.audit.launches += launches.len() as u32;
            if asked.is_empty() {
                asked = self.decoys(&mut *witness, 2)?;
            } else {
                self.decoys(&mut *witness, 1)?;
            }
            // At most as many values and outputs at once as a region may have.
            for some in judged.chunks(limit) {
                self.judge(&mut *witness, &before, &launches, fill, some)?;
            }
            if fits && warmed < warmup {
                warmed += launches.len();
            } else if fits {
                let counts = |launch: &usize| matches!(recurring[*launch], Recurs::Nothing | Recurs::Nearly);
                let new = counted.filter(counts);
                durations.extend(new.map(|launch| region.durations_ns[launch]));
            }
        }
        self.computes_all()?;
        durations.truncate(wanted);
        for (standing, first) in asked {
            self.same_again(&mut *witness, standing, &first)?;
        }
        if self.audit.values != Values::Captured && !self.audit.follows {
            self.held()?;
        }
        self.audit.overhead_ns = self.beside_ns / self.counted.max(1) as f64;
        let mutated = kernel.settle()?;
        let passes = self.passes();
        Ok(Outcome { durations_ns: durations, audit: self.audit, mutated, passes })
    }

    /// A wrong output that the comparison would pass, in words: the captured one for all other values, or half precision.
    fn passes(&self) -> Option<String> {
        let undistinguished = self.leaves.iter().find(|(_, leaf)| leaf.follows && !leaf.distinguished);
        let words = undistinguished.map(|(path, _)| {
            let leaf = if path.is_empty() { String::new() } else { format!(", in {path}") };
            format!("what was computed from other values{leaf}")
        });
        words.or_else(|| self.in_half.then(|| "half precision, and this kernel's output is as far off".to_owned()))
    }
}

/// The bytes of the outputs of one launch.
fn output_bytes(region: &Region) -> usize {
    let of = |outputs: &Vec<Output>| outputs.iter().filter_map(Output::tensor).map(|placed| placed.bytes).sum();
    region.outputs.iter().map(of).max().unwrap_or(0)
}

impl Outcome {
    /// The samples of the run: one per launch, or their mean as one.
    pub fn samples(&self, each: bool) -> Samples {
        if each {
            return Samples::each(self.durations_ns.clone());
        }
        let count = self.durations_ns.len().max(1);
        let mean = self.durations_ns.iter().sum::<f64>() / count as f64;
        Samples { launches_per_sample: count as u32, ..Samples::each(vec![mean]) }
    }
}
