//! [`Optimizer`]: the names of optimizers, and the state that each keeps.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matrices::Matrices;
use super::names::{ParseNameError, named};
use super::rate::Rate;
use super::source::Source;

named! {
    /// The optimizer.
    Optimizer, "optimizer" {
        /// Adam or AdamW: two fp32 moments, 8 B per parameter.
        Adam = "adam",
        /// 8-bit Adam, paged or not: two moments of one byte, 2 B per parameter.
        Adam8bit = "adam8bit",
        /// Adafactor: one fp32 number for each row and each column of a matrix.
        Adafactor = "adafactor",
        /// SGD with momentum: 4 B per parameter.
        Sgd = "sgd",
        /// SGD without momentum, as PyTorch's and Transformers' default: no state.
        PlainSgd = "plain-sgd",
        /// RMSprop, neither centred nor with momentum: one fp32 moment, 4 B per parameter.
        Rmsprop = "rmsprop",
        /// Adagrad: one fp32 sum, 4 B per parameter.
        Adagrad = "adagrad",
        /// Lion: one fp32 moment, 4 B per parameter.
        Lion = "lion",
        /// 8-bit Lion, paged or not: one moment of one byte.
        Lion8bit = "lion8bit",
        /// 4-bit Adam, as in torchao: two moments of half a byte.
        Adam4bit = "adam4bit",
        /// SGD with a momentum of one byte.
        Sgd8bit = "sgd8bit",
        /// 8-bit RMSprop: one byte per parameter.
        Rmsprop8bit = "rmsprop8bit",
        /// 8-bit Adagrad: one byte per parameter.
        Adagrad8bit = "adagrad8bit",
        /// Adadelta: two fp32 averages, 8 B per parameter.
        Adadelta = "adadelta",
        /// Sophia: a moment and a diagonal of the Hessian, 8 B per parameter.
        Sophia = "sophia",
        /// Schedule-free Adam: a sequence of weights and a moment, 8 B per parameter.
        ScheduleFree = "schedule-free",
        /// Schedule-free SGD: a sequence of weights, 4 B per parameter.
        ScheduleFreeSgd = "schedule-free-sgd",
        /// AdEMAMix: three fp32 moments, 12 B per parameter.
        Ademamix = "ademamix",
        /// 8-bit AdEMAMix: three moments of one byte.
        Ademamix8bit = "ademamix8bit",
        /// GrokAdamW: two moments and an average of gradients, 12 B per parameter.
        Grokadamw = "grokadamw",
        /// Adan: three moments and the last gradient, 16 B per parameter.
        Adan = "adan",
        /// Prodigy: two moments, a sum and the first weights, 16 B per parameter.
        Prodigy = "prodigy",
        /// Muon: one fp32 momentum for matrices, Adam for the rest.
        Muon = "muon",
        /// GaLore: Adam's moments in a subspace of each matrix, and the projection.
        Galore = "galore",
        /// GaLore with moments of one byte.
        Galore8bit = "galore8bit",
        /// APOLLO: Adam's moments in a random subspace of each matrix, and the projection.
        Apollo = "apollo",
        /// SOAP: Adam's moments, two preconditioners and their eigenvectors for each matrix.
        Soap = "soap",
        /// CAME: one fp32 moment, and two factored ones for each matrix.
        Came = "came",
        /// Adam-mini: one fp32 moment, 4 B per parameter, and a number for each block.
        AdamMini = "adam-mini",
    }
}

/// Words in the names of optimizers, the more specific first.
const WORDS: [(&str, Optimizer); 27] = [
    ("galore", Optimizer::Galore),
    ("apollo", Optimizer::Apollo),
    ("muon", Optimizer::Muon),
    ("soap", Optimizer::Soap),
    ("came", Optimizer::Came),
    ("adam_mini", Optimizer::AdamMini),
    ("adammini", Optimizer::AdamMini),
    ("ademamix", Optimizer::Ademamix),
    ("grokadamw", Optimizer::Grokadamw),
    ("grokfast", Optimizer::Grokadamw),
    ("schedule_free_sgd", Optimizer::ScheduleFreeSgd),
    ("sgdschedulefree", Optimizer::ScheduleFreeSgd),
    ("schedule_free", Optimizer::ScheduleFree),
    ("schedulefree", Optimizer::ScheduleFree),
    ("prodigy", Optimizer::Prodigy),
    ("adan", Optimizer::Adan),
    ("sophia", Optimizer::Sophia),
    ("adafactor", Optimizer::Adafactor),
    ("lion", Optimizer::Lion),
    ("adadelta", Optimizer::Adadelta),
    ("rprop", Optimizer::Adadelta),
    ("adagrad", Optimizer::Adagrad),
    ("rmsprop", Optimizer::Rmsprop),
    ("adam", Optimizer::Adam),
    ("lamb", Optimizer::Adam),
    ("sgd", Optimizer::Sgd),
    ("momentum", Optimizer::Sgd),
];

/// Words in the names of optimizers whose memory is not their state alone: gradients that are applied at once or
/// compressed, blocks that take turns.
const REFUSED: [&str; 9] =
    ["lomo", "layerwise", "onebit", "1bit", "zeroone", "badam", "lisa", "galore_adafactor", "per_layer"];

/// The rank of a subspace if none is given, as in Transformers.
const RANK: u64 = 128;

impl Optimizer {
    /// The optimizer named by `text`: a name of the command line, of Transformers (`adamw_torch_fused`,
    /// `paged_adamw_8bit`), PyTorch (`torch.optim.AdamW`), DeepSpeed (`DeepSpeedCPUAdam`) or bitsandbytes.
    pub fn named(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        if let Ok(own) = lower.parse() {
            return Some(own);
        }
        let name = lower.rsplit(['.', ':', '/']).next().unwrap_or("").replace('-', "_").replace("optimizernames_", "");
        if REFUSED.iter().any(|word| name.contains(word)) {
            return None;
        }
        let (_, found) = WORDS.iter().find(|(word, _)| name.contains(word))?;
        let bits = |width: &str| name.contains(&format!("{width}bit")) || name.contains(&format!("{width}_bit"));
        if bits("4") {
            return (*found == Self::Adam).then_some(Self::Adam4bit);
        }
        if !bits("8") && !name.contains("fp8") {
            return Some(*found);
        }
        Some(match found {
            Self::Adam => Self::Adam8bit,
            Self::Lion => Self::Lion8bit,
            Self::Sgd => Self::Sgd8bit,
            Self::Rmsprop => Self::Rmsprop8bit,
            Self::Adagrad => Self::Adagrad8bit,
            Self::Ademamix => Self::Ademamix8bit,
            Self::Galore => Self::Galore8bit,
            _ => return None,
        })
    }

    /// Bytes of state per trained parameter, with these matrices; `rank` is that of a subspace.
    pub(super) fn state(self, of: &Matrices, rank: Option<u64>) -> Rate {
        let rest = of.parameters.saturating_sub(of.matrices);
        let rank = rank.unwrap_or(RANK);
        // `each` bytes of both moments in the subspace and of the rest's, and a projection in fp32.
        let subspace = |each: u64| {
            let moments = rank.saturating_mul(of.long).saturating_add(rest).saturating_mul(each);
            moments.saturating_add(rank.saturating_mul(of.short).saturating_mul(4))
        };
        let of_all = |bytes: u64| Rate::fraction(bytes, of.parameters.max(1));
        match self {
            Self::PlainSgd => Rate::ZERO,
            Self::Lion8bit | Self::Adam4bit | Self::Sgd8bit | Self::Rmsprop8bit | Self::Adagrad8bit => Rate::whole(1),
            Self::Adam8bit => Rate::whole(2),
            Self::Ademamix8bit => Rate::whole(3),
            Self::Sgd | Self::Lion | Self::Rmsprop | Self::Adagrad | Self::ScheduleFreeSgd | Self::AdamMini => {
                Rate::whole(4)
            }
            Self::Adam | Self::Adadelta | Self::Sophia | Self::ScheduleFree => Rate::whole(8),
            Self::Ademamix | Self::Grokadamw => Rate::whole(12),
            Self::Adan | Self::Prodigy => Rate::whole(16),
            Self::Adafactor => of_all(of.sides.saturating_add(of.table_sides).saturating_mul(4)),
            Self::Came => of_all(
                of.parameters
                    .saturating_add(of.sides.saturating_add(of.table_sides).saturating_mul(2))
                    .saturating_mul(4),
            ),
            Self::Muon => of_all(of.matrices.saturating_mul(4).saturating_add(rest.saturating_mul(8))),
            Self::Galore | Self::Apollo => of_all(subspace(8)),
            Self::Galore8bit => of_all(subspace(2)),
            Self::Soap => of_all(of.parameters.saturating_add(of.squares).saturating_mul(8)),
        }
    }

    /// This optimizer with state in 8 bits, or why there is none.
    pub(super) const fn in_8_bits(self) -> Result<Self, &'static str> {
        match self {
            Self::Adam => Ok(Self::Adam8bit),
            Self::Ademamix => Ok(Self::Ademamix8bit),
            Self::Galore => Ok(Self::Galore8bit),
            Self::Adadelta
            | Self::Sophia
            | Self::ScheduleFree
            | Self::Grokadamw
            | Self::Adan
            | Self::Prodigy
            | Self::Soap
            | Self::Muon
            | Self::Apollo => Err("no 8-bit form of this optimizer is known"),
            _ => Err("the optimizer's state is small already"),
        }
    }

    /// Whether its state has the dtype of the weights.
    pub(super) const fn follows_weights(self) -> bool {
        matches!(
            self,
            Self::Adam
                | Self::Sgd
                | Self::Rmsprop
                | Self::Adagrad
                | Self::Adadelta
                | Self::Lion
                | Self::Sophia
                | Self::Adan
                | Self::Ademamix
                | Self::Grokadamw
                | Self::Prodigy
                | Self::ScheduleFree
                | Self::ScheduleFreeSgd
        )
    }

    /// Whether its state depends on the matrices of the model.
    pub(super) const fn needs_matrices(self) -> bool {
        matches!(
            self,
            Self::Adafactor | Self::Came | Self::Muon | Self::Galore | Self::Galore8bit | Self::Apollo | Self::Soap
        )
    }

    /// The source of its bytes per parameter, if it is not the convention's.
    pub(super) const fn source(self) -> Option<Source> {
        Some(match self {
            Self::Adam => return None,
            Self::Adam8bit
            | Self::Lion8bit
            | Self::Sgd8bit
            | Self::Rmsprop8bit
            | Self::Adagrad8bit
            | Self::Ademamix8bit => Source::Bitsandbytes,
            Self::Adafactor => Source::AdafactorPaper,
            Self::Muon => Source::MuonCode,
            Self::Galore | Self::Galore8bit => Source::GalorePaper,
            Self::Apollo => Source::ApolloPaper,
            Self::Soap => Source::SoapPaper,
            Self::Came => Source::CamePaper,
            Self::AdamMini => Source::AdamMiniPaper,
            _ => Source::OptimizerCode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::matrices::Sums;
    use super::*;

    /// Bytes that optimizers keep after two steps of an embedding of 12,000 x 64, layers of 64 x 512 and 512 x 64, and a
    /// LayerNorm: torch 2.12, pytorch_optimizer 3, galore-torch 1.0 and apollo-torch 1.0, without their step counters.
    #[test]
    fn the_state_is_that_of_the_optimizers_own_code() {
        let mut sums = Sums::default();
        sums.add(1, 64, 512);
        sums.add(1, 512, 64);
        sums.add_table(12_000, 64);
        let of = sums.of(833_664);
        for (optimizer, bytes) in [
            (Optimizer::Adan, 13_338_624),
            (Optimizer::Ademamix, 10_003_968),
            (Optimizer::Prodigy, 13_338_624),
            (Optimizer::ScheduleFree, 6_669_312),
            (Optimizer::ScheduleFreeSgd, 3_334_656),
            (Optimizer::Grokadamw, 10_003_968),
            (Optimizer::Lion, 3_334_656),
            (Optimizer::Adadelta, 6_669_332),
            (Optimizer::Soap, 10_961_920),
            (Optimizer::Came, 3_440_916),
            (Optimizer::AdamMini, 3_334_696),
            (Optimizer::Galore, 6_284_288),
            (Optimizer::Apollo, 6_284_296),
            // Muon itself keeps 262,144; the embedding and the norm have AdamW.
            (Optimizer::Muon, 262_144 + 8 * (833_664 - 65_536)),
        ] {
            let found = optimizer.state(&of, Some(16)).value() * 833_664.0;
            let off = (found - f64::from(bytes)).abs() / f64::from(bytes);
            assert!(off < 0.001, "{optimizer}: {found} instead of {bytes}");
        }
    }

    #[test]
    fn every_name_of_the_command_line_names_its_optimizer() {
        for &optimizer in Optimizer::ALL {
            assert_eq!(Optimizer::named(optimizer.name()), Some(optimizer));
        }
    }
}
