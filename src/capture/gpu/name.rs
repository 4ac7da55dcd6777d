//! [`Place`]: the place where kernels are launched, as the user names it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place where kernels are launched: `cpu`, `cuda` or `cuda:1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// The CPU, with the arguments in its memory.
    #[default]
    Cpu,
    /// The NVIDIA GPU with this number, in the order of `CUDA_VISIBLE_DEVICES`.
    Cuda(u32),
}

impl Place {
    /// The kind of the place.
    pub const fn kind(self) -> PlaceKind {
        match self {
            Self::Cpu => PlaceKind::Cpu,
            Self::Cuda(_) => PlaceKind::Cuda,
        }
    }
}

/// The kind of place where kernels are launched; times on one kind cannot be compared with times on another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// The CPU.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl PlaceKind {
    /// Whether the place is the CPU.
    pub fn is_cpu(&self) -> bool {
        *self == Self::Cpu
    }
}

/// A text that does not name a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a device: write cpu, cuda, or cuda:N with the number of a GPU")]
pub struct ParsePlaceError(String);

impl FromStr for Place {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParsePlaceError(text.to_owned());
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.parse().map(Self::Cuda).map_err(|_| refused())
            }
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_named_as_pytorch_names_them() {
        assert_eq!("cpu".parse(), Ok(Place::Cpu));
        assert_eq!("cuda".parse(), Ok(Place::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(Place::Cuda(3)));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda:99999999999", "cpu:0", "CUDA"] {
            let error = text.parse::<Place>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` is not a device: write cpu, cuda, or cuda:N with the number of a GPU"));
        }
    }

    proptest! {
        #[test]
        fn what_parses_round_trips(text in "(cpu|cuda|x)?:?[0-9+-]{0,4}") {
            if let Ok(place) = text.parse::<Place>() {
                prop_assert_eq!(place.to_string().parse(), Ok(place));
            }
        }
    }
}
