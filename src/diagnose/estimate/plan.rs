//! [`Plan`]: the changes needed to fit, and no more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::candidates;
use super::fit::Limits;
use super::model::Model;
use super::places::Places;
use super::rung::{Effect, Rung};
use super::setup::{BatchFactors, Setup};
use super::total::Estimate;

/// The changes needed to fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The changes, in the order of the ladder.
    pub changes: Vec<Change>,
    /// The peak with these changes.
    pub peak: Places,
    /// The factors of the effective batch with these changes; their product does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchFactors>,
    /// The setup with these changes.
    pub setup: Setup,
}

/// One change of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The rung.
    pub rung: Rung,
    /// What the rung changes in addition to memory.
    pub mark: Effect,
    /// The setting.
    pub change: String,
}

impl Plan {
    /// The fewest changes from `start` towards `reached`, which fits: each rung of `taken`, from the dearest to the
    /// cheapest, is dropped if the setup fits without it, and the micro-batch is as large as possible.
    pub(super) fn least(
        model: &Model,
        start: &Setup,
        limits: &Limits,
        taken: &[Rung],
        last: Rung,
        reached: Setup,
    ) -> Self {
        let fits = |setup: &Setup| {
            let estimate = Estimate::of(model, setup).ok()?;
            estimate.fit(limits).is_some_and(|fit| fit.verdict.safe()).then_some(estimate)
        };
        let mut setup = reached;
        for &rung in taken.iter().rev() {
            let without = undone(rung, &setup, start);
            if fits(&without).is_some() {
                setup = without;
            }
        }
        // 4 x 16 is better than 1 x 64.
        let smaller = candidates(Rung::MicroBatch, model, start).unwrap_or_default();
        let larger = smaller.into_iter().map(|candidate| candidate.setup).filter(|larger| larger.batch > setup.batch);
        let larger = larger.map(|larger| Setup { batch: larger.batch, accumulation: larger.accumulation, ..setup });
        setup = larger.into_iter().find(|setup| fits(setup).is_some()).unwrap_or(setup);

        let mut changes = Vec::new();
        let mut at = *start;
        let rungs: Vec<Rung> = taken.iter().copied().chain([last]).collect();
        // Offloading names its stage itself.
        let told = |rung: &Rung| *rung != Rung::Sharding || !rungs.contains(&Rung::Offload);
        for rung in rungs.iter().copied().filter(told) {
            let next = undone(rung, &at, &setup);
            if next == at {
                continue;
            }
            let words = candidates(rung, model, &at).unwrap_or_default().into_iter().find(|c| c.setup == next);
            let change = words.map_or_else(|| rung.title().to_owned(), |candidate| candidate.change);
            changes.push(Change { rung, mark: rung.mark(), change });
            at = next;
        }
        let peak = Estimate::of(model, &setup).map_or(Places::NONE, |estimate| estimate.peak);
        Self { changes, peak, batch: setup.batch_factors(), setup }
    }
}

/// `setup` with the settings of `rung` as in `other`.
fn undone(rung: Rung, setup: &Setup, other: &Setup) -> Setup {
    match rung {
        Rung::MicroBatch => Setup { batch: other.batch, accumulation: other.accumulation, ..*setup },
        Rung::Bf16 => Setup { precision: other.precision, ..*setup },
        Rung::Checkpointing => Setup { checkpointing: other.checkpointing, ..*setup },
        Rung::ExpandableSegments => *setup,
        Rung::Sdpa => Setup { attention: other.attention, ..*setup },
        Rung::ShorterSequence => Setup { sequence: other.sequence, ..*setup },
        Rung::Optimizer8bit => Setup { optimizer: other.optimizer, ..*setup },
        Rung::Sharding => Setup { zero: other.zero, ..*setup },
        Rung::Offload => {
            Setup { zero: other.zero, offload: other.offload, offload_parameters: other.offload_parameters, ..*setup }
        }
        Rung::Adapter => Setup { tuning: other.tuning, ..*setup },
    }
}
