//! [`Reference`]: the source of the expected outputs.

use std::str::FromStr;

use super::builtin::Builtin;
use super::spec::{KernelSpec, ParseKernelSpecError, operator_of_torch};

/// The source of the expected outputs: `captured`, `torch`, `float64`, or another kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The captured outputs.
    Captured,
    /// The outputs of PyTorch's operator for the captured function.
    Torch,
    /// The outputs of that operator in `float64`.
    Float64,
    /// The outputs of another kernel.
    Kernel(KernelSpec),
}

impl Reference {
    /// The kernel that recomputes the outputs of calls of `function`; `None` if the captured ones are expected.
    pub fn kernel(&self, function: &str) -> Option<KernelSpec> {
        let name = || function.strip_prefix("torch.nn.functional.").unwrap_or(function).to_owned();
        match self {
            Self::Captured => None,
            Self::Torch => Some(KernelSpec::Torch(name())),
            Self::Float64 => Some(KernelSpec::Float64(name())),
            Self::Kernel(kernel) => Some(kernel.clone()),
        }
    }

    /// The implementations of a function of torch that are known to this program, the one that costs least first.
    pub fn known(function: &str) -> Vec<KernelSpec> {
        let Some(name) = operator_of_torch(function) else { return Vec::new() };
        let builtin = Builtin::named(name).map(KernelSpec::Builtin);
        builtin.into_iter().chain(Self::Torch.kernel(function)).collect()
    }
}

impl FromStr for Reference {
    type Err = ParseKernelSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "captured" => Ok(Self::Captured),
            "torch" => Ok(Self::Torch),
            "float64" => Ok(Self::Float64),
            kernel => kernel.parse().map(Self::Kernel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_the_kernel_of_a_function() {
        let of = |text: &str, function: &str| {
            let reference: Reference = text.parse().unwrap();
            reference.kernel(function).map(|kernel| kernel.to_string())
        };
        let function = "torch.nn.functional.embedding";
        assert_eq!(of("captured", function), None);
        assert_eq!(of("torch", function).as_deref(), Some("torch:embedding"));
        assert_eq!(of("float64", "torch.ops.aten.mul.Tensor").as_deref(), Some("float64:torch.ops.aten.mul.Tensor"));
        assert_eq!(of("builtin:embedding", function).as_deref(), Some("builtin:embedding"));
        assert!("nothing".parse::<Reference>().is_err());
        let known: Vec<String> = Reference::known(function).iter().map(KernelSpec::to_string).collect();
        assert_eq!(known, ["builtin:embedding", "torch:embedding"]);
        assert_eq!(Reference::known("mine.embedding"), []);
    }
}
