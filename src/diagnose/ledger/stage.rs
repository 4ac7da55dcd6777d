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
}

/// Follows the labels of a log, or the names of phases, through the stages.
///
/// ```
/// use plimsoll_diagnose::ledger::{Stage, Stages};
/// let mut stages = Stages::default();
/// let labels = ["before init", "after init", "step 0 start", "step 0 end", "step 1 end"];
/// let found: Vec<_> = labels.iter().filter_map(|label| stages.next(label)).collect();
/// assert_eq!(found, [Stage::Start, Stage::Init, Stage::Backward, Stage::Step1, Stage::Later]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stages {
    before: Option<Stage>,
    /// The number of the first step, if a label states it: some programs count from 0.
    first: Option<u64>,
    /// Whether a label ended the first step.
    ended: bool,
    /// Parts of a step that were labelled.
    parts: Vec<String>,
}

/// How many labels of parts are kept.
const PARTS: usize = 64;

impl Stages {
    /// Records that the start was read.
    pub fn begun(&mut self) {
        self.before = self.before.max(Some(Stage::Start));
    }

    /// The stage that `label` names; `None` if it names none.
    pub fn next(&mut self, label: &str) -> Option<Stage> {
        let label = label.to_ascii_lowercase();
        let inside = is_inside(&label) && !label.contains("initiali");
        let early = is_early(&label);
        // A part of a step that was read before, or that follows the end of the first step, belongs to a later step.
        let again = inside && (self.ended || self.parts.contains(&label));
        if again {
            self.before = self.before.max(Some(Stage::Later));
        }
        let stage = self.named(&label, inside, early)?;
        // Stages do not go back: a second forward pass belongs to a later step.
        let stage = match self.before {
            Some(before) if stage < before && before < Stage::Step1 => before,
            Some(before) if stage < before => Stage::Later,
            _ => stage,
        };
        if inside && self.parts.len() < PARTS {
            self.parts.push(label);
        }
        self.ended |= stage == Stage::Step1 && !inside && !early;
        self.before = Some(stage);
        Some(stage)
    }

    fn named(&mut self, label: &str, inside: bool, early: bool) -> Option<Stage> {
        let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
        let steps = has(&["step", "optimizer_update"]) && !has(&["initiali"]);
        if steps || inside {
            let number = step_number(label);
            let first = *self.first.get_or_insert(number.unwrap_or(1));
            let later = match number {
                // Without an earlier number, a step of 2 or more follows one that was not read.
                Some(number) => number > first.min(1) || (self.ended && number != first),
                None => false,
            };
            return Some(match (later, inside, early) {
                (true, ..) => Stage::Later,
                // Inside the first step, before and after each of its parts.
                (_, true, _) => Stage::Step1,
                (_, _, true) if self.before < Some(Stage::Step1) => Stage::Backward,
                (_, _, true) => Stage::Later,
                _ => Stage::Step1,
            });
        }
        let of = |before: Stage, after: Stage| Some(if early { before } else { after });
        if has(&["backward", "bwd"]) {
            of(Stage::Forward, Stage::Backward)
        } else if has(&["forward", "fwd"]) {
            of(Stage::Init, Stage::Forward)
        } else if has(&["init", "engine", "prepare"]) {
            of(Stage::Start, Stage::Init)
        } else if has(&["start", "begin", "baseline"]) {
            Some(Stage::Start)
        } else {
            None
        }
    }
}

/// The words of `label`: `enter step()` has `enter` and `step`.
fn words(label: &str) -> impl Iterator<Item = &str> {
    label.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether `label` names the beginning of what it names: `before step`, `step 1 start`, `enter step()`.
fn is_early(label: &str) -> bool {
    let late = |word: &str| {
        ["after", "end", "done", "post", "exit", "leave", "complete", "inside", "during"].contains(&word)
            || ["ended", "finish", "completed", "exited", "leaving"].iter().any(|late| word.starts_with(late))
    };
    let early = |word: &str| {
        ["before", "pre", "prior", "top", "start", "starts", "starting", "started", "enter", "enters", "entering"]
            .contains(&word)
            || word.starts_with("begin")
            || word.starts_with("began")
    };
    !words(label).any(late) && words(label).any(early)
}

/// The number of the step, not one of a name such as fp16.
fn step_number(label: &str) -> Option<u64> {
    let behind = label.rsplit_once("step")?.1.trim_start_matches([' ', '_', '#', ':', '=', '(', '[', '-', '.']);
    let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
    behind[..digits].parse().ok()
}

/// Whether `label` names a part of an optimizer step.
fn is_inside(label: &str) -> bool {
    const PARTS: [&str; 13] = [
        "unscale",
        "clip_grad",
        "clip grad",
        "clip-grad",
        "grad_norm",
        "grad norm",
        "global_norm",
        "global norm",
        "adam",
        "optimizer_update",
        "update_params",
        "inside step",
        "in step(",
    ];
    PARTS.iter().any(|part| label.contains(part))
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
