//! [`Optimizer`]: the optimizer whose step failed, by the frames of its traceback.

use super::ascii::regex;

/// An optimizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Optimizer {
    /// Its name, if the frames have one.
    pub(super) name: Option<String>,
    /// What it keeps for each parameter.
    pub(super) state: State,
    /// Whether the failing line creates that state.
    pub(super) creates: bool,
    /// Whether the state has 8 bits already.
    pub(super) small: bool,
    /// Whether the step works on lists of tensors, with temporaries as large as the parameters.
    pub(super) lists: bool,
}

/// What an optimizer keeps for each parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Two moments, as Adam has.
    Moments,
    /// A momentum buffer, if momentum is set.
    Momentum,
    /// Something else, or nothing is known.
    Unknown,
}

/// The names of optimizers, in the spelling of their modules and classes, the more specific first.
const KNOWN: [(&str, &str, State); 24] = [
    ("deepspeedcpuadam", "DeepSpeedCPUAdam", State::Moments),
    ("cpu_adam", "DeepSpeedCPUAdam", State::Moments),
    ("fused_adam", "FusedAdam", State::Moments),
    ("fusedadam", "FusedAdam", State::Moments),
    ("sparse_adam", "SparseAdam", State::Moments),
    ("adamw", "AdamW", State::Moments),
    ("nadam", "NAdam", State::Moments),
    ("radam", "RAdam", State::Moments),
    ("adamax", "Adamax", State::Moments),
    ("ademamix", "AdEMAMix", State::Moments),
    ("fused_lamb", "FusedLAMB", State::Moments),
    ("lamb", "LAMB", State::Moments),
    ("adam", "Adam", State::Moments),
    ("adafactor", "Adafactor", State::Unknown),
    ("adagrad", "Adagrad", State::Unknown),
    ("adadelta", "Adadelta", State::Unknown),
    ("rmsprop", "RMSprop", State::Unknown),
    ("rprop", "Rprop", State::Unknown),
    ("lbfgs", "L-BFGS", State::Unknown),
    ("asgd", "ASGD", State::Unknown),
    ("muon", "Muon", State::Momentum),
    ("lion", "Lion", State::Momentum),
    ("sophia", "Sophia", State::Moments),
    ("sgd", "SGD", State::Momentum),
];

impl Optimizer {
    /// The optimizer of `frames`, which start with the innermost.
    pub(super) fn of(frames: &[&str]) -> Option<Self> {
        let module = regex!(
            r"(?i)/(?:optim(?:izers?)?|ops/(?:adam|lamb|lion)|apex/optimizers|bitsandbytes/optim)/(?:\w+/)*(\w+)\.py|\b_(?:single_tensor|multi_tensor|fused)_(\w+)|, in _?(?:fused_|update_)?(adam\w*|sgd|lion|muon|adafactor|rmsprop|adagrad)\b"
        );
        let named = frames.iter().find_map(|text| {
            let found = module.captures(text)?;
            let name = found.iter().skip(1).flatten().next()?.as_str().to_ascii_lowercase();
            KNOWN.iter().find(|(known, ..)| name.contains(known))
        });
        let has = |words: &[&str]| frames.iter().any(|text| words.iter().any(|word| text.contains(word)));
        let of_words = || if has(&["exp_avg"]) { State::Moments } else { State::Unknown };
        Some(Self {
            name: named.map(|(_, name, _)| (*name).to_owned()),
            state: named.map_or_else(of_words, |(_, _, state)| *state),
            creates: has(&[
                "_init_group",
                "init_state",
                "initialize_optimizer_states",
                "zeros_like(",
                "momentum_buffer",
            ]),
            small: has(&["bitsandbytes/optim", "8bit"]),
            lists: has(&["_multi_tensor_", "_foreach_"]),
        })
    }

    /// What it keeps, in words.
    pub(super) fn keeps(&self) -> &'static str {
        match self.state {
            State::Moments => "its moments",
            State::Momentum => "its momentum",
            State::Unknown => "its state",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimizer_is_named_by_its_module_or_function() {
        for (frames, name, state, creates) in [
            (
                &["  File \"/x/torch/optim/adamw.py\", line 176, in _init_group"][..],
                Some("AdamW"),
                State::Moments,
                true,
            ),
            (
                &[
                    "  File \"/x/torch/optim/sgd.py\", line 330, in _single_tensor_sgd",
                    "  File \"/x/torch/optim/optimizer.py\", line 493, in wrapper",
                ],
                Some("SGD"),
                State::Momentum,
                false,
            ),
            (
                &["  File \"/x/deepspeed/ops/adam/fused_adam.py\", line 9, in step"],
                Some("FusedAdam"),
                State::Moments,
                false,
            ),
            (
                &[
                    "  File \"/x/bitsandbytes/optim/optimizer.py\", line 9, in step",
                    "  File \"/x/bitsandbytes/optim/lion.py\", line 9, in init_state",
                ],
                Some("Lion"),
                State::Momentum,
                true,
            ),
            (
                &[
                    "  File \"/x/transformers/optimization.py\", line 9, in step",
                    "    state[\"exp_avg\"] = torch.zeros_like(grad)",
                ],
                None,
                State::Moments,
                true,
            ),
            (&["    opt.step()"], None, State::Unknown, false),
        ] {
            let found = Optimizer::of(frames).unwrap();
            assert_eq!((found.name.as_deref(), found.state, found.creates), (name, state, creates), "{frames:?}");
        }
    }
}
