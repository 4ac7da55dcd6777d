//! [`Stage`]: when a reading was taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use crate::estimate::{ParseNameError, Phase};

/// When a reading was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Before anything was created.
    Start,
    /// After model and optimizer were created.
    Init,
    /// After the first forward pass.
    Forward,
    /// After the first backward pass.
    Backward,
    /// During or after the first optimizer step.
    Step1,
    /// After later steps.
    Later,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 6] = [Self::Start, Self::Init, Self::Forward, Self::Backward, Self::Step1, Self::Later];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Init => "init",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Step1 => "step1",
            Self::Later => "later",
        }
    }

    /// The phase of an estimate whose state exists by then; `None` before anything exists.
    pub(super) const fn phase(self) -> Option<Phase> {
        match self {
            Self::Start => None,
            Self::Init => Some(Phase::Init),
            Self::Forward => Some(Phase::FirstForward),
            Self::Backward => Some(Phase::FirstBackward),
            Self::Step1 => Some(Phase::FirstStep),
            Self::Later => Some(Phase::Steady),
        }
    }

    /// The stage in a log's label or a phase's name, after `before`: a step that follows the first one is a later one.
    pub fn of_label(label: &str, before: Option<Self>) -> Option<Self> {
        let label = label.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
        let early = label.contains("before");
        // Inside the first step, before and after each of its parts.
        if is_inside(&label) && !has(&["initiali"]) && !label.contains("step") && before <= Some(Self::Step1) {
            return Some(Self::Step1);
        }
        let stage = if has(&["unscale", "clip_grad", "adam", "step", "optimizer_update"]) && !has(&["initiali"]) {
            // The number of the step, not of a name such as fp16.
            let number = label.rsplit("step").next().unwrap_or("").trim_start_matches([' ', '_', '#', ':', '=']);
            let number =
                number.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<u64>().ok());
            match (number, early) {
                (Some(2..), _) => Self::Later,
                (_, true) if before < Some(Self::Step1) => Self::Backward,
                (_, true) => Self::Later,
                _ => Self::Step1,
            }
        } else if has(&["backward", "bwd"]) {
            if early { Self::Forward } else { Self::Backward }
        } else if has(&["forward", "fwd"]) {
            if early { Self::Init } else { Self::Forward }
        } else if has(&["init", "engine", "prepare"]) {
            if early { Self::Start } else { Self::Init }
        } else if has(&["start", "begin", "baseline"]) {
            Self::Start
        } else {
            return None;
        };
        // Stages do not go back: a second forward pass belongs to a later step.
        Some(match before {
            Some(before) if stage < before => {
                if before < Self::Step1 {
                    before
                } else {
                    Self::Later
                }
            }
            _ => stage,
        })
    }
}

/// Whether `label` names a part of an optimizer step.
pub(super) fn is_inside(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    ["unscale", "clip_grad", "clip grad", "adam", "optimizer_update", "update_params"]
        .iter()
        .any(|word| label.contains(word))
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Stage {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let found = match text.to_ascii_lowercase().as_str() {
            "before" => Some(Self::Start),
            "step" | "first-step" => Some(Self::Step1),
            "step2" | "end" | "steady" => Some(Self::Later),
            name => Self::ALL.into_iter().find(|stage| stage.name() == name),
        };
        found.ok_or_else(|| ParseNameError::new("stage", text, Self::ALL.iter().map(|stage| stage.name())))
    }
}
