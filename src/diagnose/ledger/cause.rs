//! Known causes of an excess.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reading::MemoryKind;
use super::stage::Stage;
use crate::estimate::{Offload, Setup};

/// The grounds on which an excess is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// The log's label at which the excess appeared.
    Label,
    /// The stage and the bytes per parameter match a cause found in DeepSpeed #7693.
    Known,
    /// Nothing explains the excess.
    Unexplained,
}

/// A cause: its stage, its name, its bytes per parameter, and the words in a label that indicate it.
struct Cause {
    stage: Stage,
    name: &'static str,
    rate: f64,
    words: &'static [&'static str],
}

/// The causes found in DeepSpeed #7693, on the host with the optimizer offloaded by ZeRO-1 or 2.
const DEEPSPEED_7693: [Cause; 4] = [
    Cause { stage: Stage::Init, name: "H2D copy buffer", rate: 2.0, words: &["h2d", "copy buffer"] },
    Cause {
        stage: Stage::Init,
        name: "pinned overhead of the copy buffer (gone with DeepSpeed #7689)",
        rate: 2.0,
        words: &["pinned"],
    },
    Cause { stage: Stage::Step1, name: "unscale_and_clip_grads", rate: 4.0, words: &["unscale", "clip", "norm"] },
    Cause { stage: Stage::Step1, name: "adam_update", rate: 4.0, words: &["adam"] },
];

/// A part of an excess: its name, its bytes per parameter, and the grounds for the name.
pub(super) type Part = (String, f64, Ground);

/// Names `rate` bytes per parameter that appeared in `stage` at `label`. Parts below `least` are dropped. Causes that
/// have `appeared` before appear again only if the label says so.
pub(super) fn name(
    (stage, label): (Stage, &str),
    rate: f64,
    least: f64,
    (setup, place): (&Setup, MemoryKind),
    appeared: &[String],
) -> Vec<Part> {
    let known = place == MemoryKind::Host && setup.offload == Offload::Cpu && setup.offload_parameters == Offload::None;
    let causes = || DEEPSPEED_7693.iter().filter(|cause| known && cause.stage == stage);
    let lower = label.to_ascii_lowercase();
    if let Some(cause) = causes().find(|cause| cause.words.iter().any(|word| lower.contains(word))) {
        return vec![(cause.name.to_owned(), rate, Ground::Label)];
    }
    let (mut rest, mut parts) = (rate, Vec::new());
    for cause in causes().filter(|cause| !appeared.iter().any(|name| name == cause.name)) {
        if rest >= cause.rate - least {
            parts.push((cause.name.to_owned(), cause.rate.min(rest), Ground::Known));
            rest -= cause.rate;
        }
    }
    if rest > least {
        parts.push(("unexplained".to_owned(), rest, Ground::Unexplained));
    }
    parts
}
