//! [`ladder`]: the rungs with what each saves, up to the first with which the estimate fits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, candidates};
use super::error::EstimateError;
use super::fit::Limits;
use super::model::Model;
use super::places::Places;
use super::rung::{Mark, Rung};
use super::setup::{BatchFactors, Setup};
use super::total::Estimate;
use crate::bytes::ByteSize;

/// The ladder for a model, a setup and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// Every rung, in order.
    pub steps: Vec<Step>,
    /// The first rung with which it fits, all before it that keep the math or move state taken as well; absent where it
    /// fits already, no limit was given, or none helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_that_fits: Option<Rung>,
}

/// A rung for a model and a setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its place on the ladder, from 1.
    pub number: u8,
    /// The rung.
    pub rung: Rung,
    /// What it changes beside the memory.
    pub mark: Mark,
    /// What is set; absent where the rung does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Why it does not apply, or has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it saves by itself at the peak of each GPU; absent where it does not apply or costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<ByteSize>,
    /// What it costs by itself at the peak of each GPU; absent where it saves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<ByteSize>,
    /// The peak with this rung and those climbed before it; absent where it was not climbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Places>,
    /// Whether that peak fits; absent where it was not climbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// The factors of the effective batch with it, whose product stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchFactors>,
}

/// Climbs the ladder until the estimate fits. Rungs that change the science or the capacity are tried on top of those
/// before them, and given up again where they do not suffice.
///
/// # Errors
/// Where `setup` itself cannot be estimated.
pub fn ladder(model: &Model, setup: &Setup, limits: &Limits) -> Result<Ladder, EstimateError> {
    let start = Estimate::of(model, setup)?;
    let fits = |estimate: &Estimate| estimate.fit(limits).is_some_and(|fit| fit.verdict.holds());
    let mut climbing = start.fit(limits).is_some_and(|fit| !fit.verdict.holds());
    let mut carried = *setup;
    let mut first_that_fits = None;
    let mut steps = Vec::with_capacity(Rung::ALL.len());
    for rung in Rung::ALL {
        let mut step = Step::new(rung);
        match candidates(rung, model, setup) {
            Err(reason) => step.reason = Some(reason.to_owned()),
            Ok(alone) => {
                // By itself, at its strongest, unless a milder one is what the climb stops at.
                let mut chosen = alone.into_iter().last();
                if let (true, Ok(onto)) = (climbing, candidates(rung, model, &carried)) {
                    let estimates = onto.into_iter().filter_map(|candidate| {
                        Estimate::of(model, &candidate.setup).ok().map(|estimate| (candidate, estimate))
                    });
                    let mut last = None;
                    for (candidate, estimate) in estimates {
                        let enough = fits(&estimate);
                        last = Some((candidate, estimate));
                        if enough {
                            break;
                        }
                    }
                    if let Some((candidate, estimate)) = last {
                        step.peak = Some(estimate.peak);
                        step.fits = Some(fits(&estimate));
                        step.batch = candidate.setup.batch_factors();
                        let keeps = matches!(rung.mark(), Mark::KeepsTheMath | Mark::MovesState);
                        let better = Estimate::of(model, &carried).is_ok_and(|e| estimate.peak.device < e.peak.device);
                        if fits(&estimate) {
                            first_that_fits = Some(rung);
                            climbing = false;
                        } else if keeps && better {
                            carried = candidate.setup;
                        }
                        let same = |alone: &Candidate| alone.change == candidate.change;
                        let alone = candidates(rung, model, setup).unwrap_or_default();
                        chosen = alone.into_iter().find(same).or(Some(candidate));
                    }
                }
                if let Some(candidate) = chosen {
                    step.compare(&start, &candidate, model);
                    step.batch = step.batch.or(candidate.setup.batch_factors());
                    step.change = Some(candidate.change);
                }
            }
        }
        steps.push(step);
    }
    Ok(Ladder { steps, first_that_fits })
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

    /// What `candidate` saves or costs against `start`.
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
