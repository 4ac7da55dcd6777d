//! [`ladder`]: the rungs with what each saves, up to the first that makes the estimate fit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, candidates};
use super::error::EstimateError;
use super::fit::Limits;
use super::model::Model;
use super::places::Places;
use super::plan::Plan;
use super::rung::{Effect, Rung};
use super::setup::{BatchFactors, Setup};
use super::total::Estimate;
use plimsoll_memory::bytes::ByteSize;

/// The ladder for a model, a setup and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// Every rung, in order.
    pub steps: Vec<Step>,
    /// The first rung that makes it fit, together with all earlier rungs that keep the math or move state; absent if it
    /// fits already, no limit was given, or none helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_that_fits: Option<Rung>,
    /// The changes needed to fit: that rung, and the earlier rungs it depends on; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

/// A rung for a model and a setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Position on the ladder, from 1.
    pub number: u8,
    /// The rung.
    pub rung: Rung,
    /// What the rung changes in addition to memory.
    pub mark: Effect,
    /// The change; absent if the rung does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Why the rung does not apply, or has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the rung alone saves at the peak of each GPU; absent if it does not apply or has a cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<ByteSize>,
    /// What the rung alone costs at the peak of each GPU; absent if it saves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<ByteSize>,
    /// The peak with this rung and those taken before it; absent if the climb ended before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Places>,
    /// Whether that peak fits; absent if the climb ended before this rung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// The factors of the effective batch with this rung; their product does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchFactors>,
}

/// Climbs the ladder until the estimate fits. Rungs that change the science or the capacity are tried on top of those
/// before them, and dropped again if they are not enough.
///
/// # Errors
/// If `setup` itself cannot be estimated.
pub fn ladder(model: &Model, setup: &Setup, limits: &Limits) -> Result<Ladder, EstimateError> {
    let start = Estimate::of(model, setup)?;
    let mut climb = Climb {
        model,
        limits,
        carried: start.clone(),
        taken: Vec::new(),
        climbing: start.fit(limits).is_some_and(|fit| !fit.verdict.holds()),
        reached: None,
    };
    let mut steps = Vec::with_capacity(Rung::ALL.len());
    for rung in Rung::ALL {
        let mut step = Step::new(rung);
        match candidates(rung, model, setup) {
            Err(reason) => step.reason = Some(reason.to_owned()),
            Ok(alone) => {
                let reached = climb.onto(rung, &mut step);
                // The rung's own effect as it was taken, otherwise at its strongest.
                let same = |candidate: &&Candidate| Some(&candidate.change) == reached.as_ref();
                if let Some(candidate) = alone.iter().find(same).or(alone.last()) {
                    step.compare(&start, candidate, model);
                    step.batch = step.batch.or(candidate.setup.batch_factors());
                    step.change = reached.or_else(|| Some(candidate.change.clone()));
                }
            }
        }
        steps.push(step);
    }
    let first_that_fits = climb.reached.as_ref().map(|(rung, _)| *rung);
    let plan = climb.reached.map(|(rung, last)| Plan::least(model, setup, limits, &climb.taken, rung, last));
    Ok(Ladder { steps, first_that_fits, plan })
}

/// The state of the climb.
struct Climb<'a> {
    model: &'a Model,
    limits: &'a Limits,
    /// The estimate with all rungs taken so far.
    carried: Estimate,
    /// The rungs taken so far.
    taken: Vec<Rung>,
    climbing: bool,
    /// The rung that fits, and the setup with it.
    reached: Option<(Rung, Setup)>,
}

impl Climb<'_> {
    /// Tries `rung`, at the mildest change that fits, otherwise at its strongest, and returns a description of the
    /// change.
    fn onto(&mut self, rung: Rung, step: &mut Step) -> Option<String> {
        if !self.climbing {
            return None;
        }
        let mut last = None;
        for candidate in candidates(rung, self.model, &self.carried.setup).ok()? {
            let Ok(estimate) = Estimate::of(self.model, &candidate.setup) else { continue };
            let fits = estimate.fit(self.limits).is_some_and(|fit| fit.verdict.safe());
            last = Some((candidate, estimate, fits));
            if fits {
                break;
            }
        }
        let (candidate, estimate, fits) = last?;
        step.peak = Some(estimate.peak);
        step.fits = Some(fits);
        step.batch = candidate.setup.batch_factors();
        if fits {
            self.reached = Some((rung, candidate.setup));
            self.climbing = false;
        } else if matches!(rung.mark(), Effect::KeepsTheMath | Effect::MovesState)
            && estimate.peak.device < self.carried.peak.device
        {
            self.taken.push(rung);
            self.carried = estimate;
        }
        Some(candidate.change)
    }
}

impl Step {
    fn new(rung: Rung) -> Self {
        Self {
            number: rung.number(),
            rung,
            mark: rung.mark(),
            change: None,
            reason: None,
            saving: None,
            cost: None,
            peak: None,
            fits: None,
            batch: None,
        }
    }

    /// Sets what `candidate` saves or costs compared with `start`.
    fn compare(&mut self, start: &Estimate, candidate: &Candidate, model: &Model) {
        match Estimate::of(model, &candidate.setup) {
            Ok(estimate) => {
                let (before, after) = (start.peak.device, estimate.peak.device);
                match after > before {
                    true => self.cost = Some(after.saturating_sub(before)),
                    false => self.saving = Some(before.saturating_sub(after)),
                }
            }
            Err(error) => self.reason = Some(error.to_string()),
        }
    }
}
