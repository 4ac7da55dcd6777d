//! [`Comparison`]: the rule by which an output is judged.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::{KernelSpec, operator_of_torch};
use crate::{Dtype, DtypeKind};

/// The rule that a [`Comparison`] starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Elements match if their bytes are equal: NaN payloads, the sign of zero and the byte of a bool included.
    Exact,
    /// KernelForge's rule: integers, bools and complex numbers must be equal, floats close with atol 1e-2 and rtol
    /// 1e-1.
    KernelForge,
    /// The rule of `torch.testing.assert_close`: the tolerances of the dtype.
    Torch,
    /// Tolerances that a reference in `float64` gives for each output; the rule `torch` for outputs without any.
    Float64,
}

impl Preset {
    /// The presets that a user names. [`Preset::Float64`] comes with its reference.
    pub const NAMED: [Self; 3] = [Self::Exact, Self::KernelForge, Self::Torch];

    /// The preset's name: `exact`, `kernelforge`, `torch` or `float64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::KernelForge => "kernelforge",
            Self::Torch => "torch",
            Self::Float64 => "float64",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that does not name a preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a comparison: write `exact`, `kernelforge` or `torch`")]
pub struct ParsePresetError(String);

impl FromStr for Preset {
    type Err = ParsePresetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::NAMED.into_iter().find(|p| p.name() == text).ok_or_else(|| ParsePresetError(text.to_owned()))
    }
}

/// A relative or absolute tolerance: a finite number that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Tolerance(#[schemars(range(min = 0))] f64);

impl Tolerance {
    /// No tolerance at all.
    pub const ZERO: Self = Self(0.0);

    /// # Errors
    /// [`ToleranceError`] if `value` is negative, infinite or NaN.
    pub fn new(value: f64) -> Result<Self, ToleranceError> {
        if value.is_finite() && value >= 0.0 {
            // The sum turns -0.0 into 0.0, which serialise differently.
            Ok(Self(value + 0.0))
        } else {
            Err(ToleranceError(value.to_string()))
        }
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// The tolerances that a reference gives for one output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// The relative tolerance.
    pub rtol: Tolerance,
    /// The absolute tolerance.
    pub atol: Tolerance,
}

/// A number or text that is not a tolerance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tolerance: write a finite number of at least 0, such as `1e-3`")]
pub struct ToleranceError(String);

impl TryFrom<f64> for Tolerance {
    type Error = ToleranceError;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        Self::new(value)
    }
}

impl From<Tolerance> for f64 {
    fn from(tolerance: Tolerance) -> Self {
        tolerance.0
    }
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_err(|_| ToleranceError(text.to_owned())).and_then(Self::new)
    }
}

/// The rule by which an output is judged: a preset, and the user's replacements for its parts.
///
/// Unless it is bitwise, an element matches when both are equal, when both are NaN and `equal_nan` holds, or when
/// |actual - expected| is finite and at most `atol + rtol * |expected|`. So a finite value never matches Inf or NaN,
/// and Inf matches only the same Inf.
///
/// | dtype | arithmetic | `exact` | `kernelforge` | `torch` |
/// |---|---|---|---|---|
/// | `float16` | f32 | bitwise | rtol 1e-1, atol 1e-2 | rtol 1e-3, atol 1e-5 |
/// | `bfloat16` | f32 | bitwise | rtol 1e-1, atol 1e-2 | rtol 1.6e-2, atol 1e-5 |
/// | `float32` | f32 | bitwise | rtol 1e-1, atol 1e-2 | rtol 1.3e-6, atol 1e-5 |
/// | `float64` | f64 | bitwise | rtol 1e-1, atol 1e-2 | rtol 1e-7, atol 1e-7 |
/// | `float8_*`, `float4_e2m1fn_x2` (each half of the byte) | f32 | bitwise | rtol 1e-1, atol 1e-2 | equal |
/// | `complex32`, `complex64`, `complex128` | f64, by modulus | bitwise | equal | as `float16`, `float32`, `float64` |
/// | integers | exact; f64 under a tolerance | bitwise | equal | equal |
/// | `bool` | truth value | bitwise | equal | equal |
/// | quantized and bits | - | bitwise | bitwise | bitwise |
///
/// `float64` has the tolerances that the reference gives for each output, and those of `torch` for an output without any.
///
/// "Equal" is equality of values: -0.0 equals 0.0, NaN equals nothing unless `equal_nan`. `float32` is judged as
/// `torch.allclose` judges it, operation by operation; `torch.allclose` rounds each operation on 16-bit floats to 16
/// bits, which is not done here.
///
/// A given part replaces that of the preset:
/// - under `torch` and `float64`, `rtol` and `atol` hold for every float, complex and integer dtype;
/// - under `kernelforge`, they hold for real floats, as everything else is compared for equality there;
/// - under `exact`, a given part makes values be judged instead of bytes, as under `torch`, with a tolerance of 0
///   unless given and NaN equal to NaN unless `equal_nan` is false.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The preset that the rule starts from.
    pub preset: Preset,
    /// The relative tolerance, in place of the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtol: Option<Tolerance>,
    /// The absolute tolerance, in place of the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atol: Option<Tolerance>,
    /// Whether NaN matches NaN, in place of the preset's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_nan: Option<bool>,
}

impl From<Preset> for Comparison {
    fn from(preset: Preset) -> Self {
        Self { preset, rtol: None, atol: None, equal_nan: None }
    }
}

impl Comparison {
    /// Equality of the elements' bytes.
    pub const fn exact() -> Self {
        Self { preset: Preset::Exact, rtol: None, atol: None, equal_nan: None }
    }

    /// KernelForge's rule.
    pub const fn kernelforge() -> Self {
        Self { preset: Preset::KernelForge, rtol: None, atol: None, equal_nan: None }
    }

    /// The rule of `torch.testing.assert_close`.
    pub const fn torch() -> Self {
        Self { preset: Preset::Torch, rtol: None, atol: None, equal_nan: None }
    }

    /// The tolerances of a reference in `float64`.
    pub const fn float64() -> Self {
        Self { preset: Preset::Float64, rtol: None, atol: None, equal_nan: None }
    }

    /// One tolerance for every dtype; NaN matches nothing.
    pub const fn tolerance(rtol: Tolerance, atol: Tolerance) -> Self {
        Self { preset: Preset::Torch, rtol: Some(rtol), atol: Some(atol), equal_nan: None }
    }

    /// The default rule for an operator: `exact` for the operators of [`DATA_MOVEMENT`], whose output consists of
    /// unchanged elements of its inputs, and `torch` for all others.
    ///
    /// `function_name` is the captured one, such as `torch.nn.functional.embedding` or `aten::embedding`. A name from
    /// outside torch never counts as torch's operator of the same name.
    pub fn for_operator(function_name: &str) -> Self {
        let moves = operator_of_torch(function_name).is_some_and(|name| DATA_MOVEMENT.binary_search(&name).is_ok());
        if moves { Self::exact() } else { Self::torch() }
    }

    /// The default rule for an operator whose outputs `reference` recomputes: [`Comparison::float64`] for the operators
    /// that compute, if it is a reference in `float64`, otherwise that of [`Comparison::for_operator`].
    pub fn for_reference(function_name: &str, reference: Option<&KernelSpec>) -> Self {
        match (Self::for_operator(function_name), reference) {
            (rule, Some(KernelSpec::Float64(_))) if rule == Self::torch() => Self::float64(),
            (rule, _) => rule,
        }
    }

    /// The rule for an output whose reference gives these tolerances; the rule itself unless it is [`Preset::Float64`]. A
    /// given part stays.
    pub fn with_tolerances(self, Tolerances { rtol, atol }: Tolerances) -> Self {
        match self.preset {
            Preset::Float64 => Self { rtol: self.rtol.or(Some(rtol)), atol: self.atol.or(Some(atol)), ..self },
            _ => self,
        }
    }

    /// The limits by which elements of `dtype` are judged.
    pub(super) fn limits(&self, dtype: Dtype) -> Limits {
        let given = self.rtol.is_some() || self.atol.is_some() || self.equal_nan.is_some();
        if dtype.kind() == DtypeKind::Opaque || (self.preset == Preset::Exact && !given) {
            return Limits { bitwise: true, rtol: 0.0, atol: 0.0, equal_nan: false };
        }
        let (rtol, atol) = match (self.preset, dtype.kind()) {
            (Preset::Exact, _) => (0.0, 0.0),
            (Preset::KernelForge, DtypeKind::Float) => (1e-1, 1e-2),
            (Preset::KernelForge, _) => (0.0, 0.0),
            (Preset::Torch | Preset::Float64, _) => assert_close(dtype),
        };
        let tolerates = match dtype.kind() {
            DtypeKind::Float => true,
            DtypeKind::Bool => false,
            _ => self.preset != Preset::KernelForge,
        };
        let or_given = |default: f64, given: Option<Tolerance>| match given {
            Some(given) if tolerates => given.get(),
            _ => default,
        };
        Limits {
            bitwise: false,
            rtol: or_given(rtol, self.rtol),
            atol: or_given(atol, self.atol),
            equal_nan: self.equal_nan.unwrap_or(self.preset == Preset::Exact),
        }
    }
}

impl fmt::Display for Comparison {
    /// The preset and what replaces its parts: `torch, rtol 0.001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.preset)?;
        for (name, given) in [("rtol", self.rtol), ("atol", self.atol)] {
            if let Some(given) = given {
                write!(f, ", {name} {:?}", given.get())?;
            }
        }
        match self.equal_nan {
            Some(true) => f.write_str(", equal_nan"),
            Some(false) => f.write_str(", no equal_nan"),
            None => Ok(()),
        }
    }
}

/// The operators of torch that move elements without changing them, sorted, without their module. Operators that choose
/// by value (`max_pool2d`) or add (`fold`, `embedding_bag`) are not in the list, nor are operators that only move
/// elements under some arguments (`interpolate`).
pub const DATA_MOVEMENT: &[&str] = &[
    "cat",
    "channel_shuffle",
    "chunk",
    "clone",
    "concat",
    "concatenate",
    "contiguous",
    "diagonal",
    "embedding",
    "expand",
    "flatten",
    "flip",
    "gather",
    "hstack",
    "index_select",
    "masked_select",
    "movedim",
    "narrow",
    "one_hot",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "repeat",
    "repeat_interleave",
    "reshape",
    "roll",
    "rot90",
    "select",
    "split",
    "squeeze",
    "stack",
    "t",
    "take",
    "take_along_dim",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unfold",
    "unsqueeze",
    "view",
    "vstack",
    "where",
];

/// The tolerances (rtol, atol) of `torch.testing.assert_close` (torch 2.11, `_DTYPE_PRECISIONS`); dtypes that are not
/// in its table are compared for equality.
const fn assert_close(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::F16 | Dtype::C32 => (1e-3, 1e-5),
        Dtype::BF16 => (1.6e-2, 1e-5),
        Dtype::F32 | Dtype::C64 => (1.3e-6, 1e-5),
        Dtype::F64 | Dtype::C128 => (1e-7, 1e-7),
        _ => (0.0, 0.0),
    }
}

/// A [`Comparison`] resolved for one dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// Whether bytes are compared; the other fields do not matter then.
    pub bitwise: bool,
    /// The relative tolerance: finite, not negative.
    pub rtol: f64,
    /// The absolute tolerance: finite, not negative.
    pub atol: f64,
    pub equal_nan: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_that_move_data_are_judged_bit_by_bit() {
        assert!(DATA_MOVEMENT.is_sorted());
        for name in
            ["torch.nn.functional.embedding", "torch.cat", "aten::embedding", "torch.ops.aten.embedding.default"]
        {
            assert_eq!(Comparison::for_operator(name), Comparison::exact(), "{name}");
        }
        for name in ["torch.nn.functional.linear", "torch.nn.functional.embedding_bag", "mylib.pad", "embedding", ""] {
            assert_eq!(Comparison::for_operator(name), Comparison::torch(), "{name}");
        }
    }

    #[test]
    fn a_given_part_replaces_that_of_the_preset() {
        let given = |preset| Comparison { rtol: Some(Tolerance(0.5)), ..Comparison::from(preset) };
        let limits = |rule: Comparison, dtype| {
            let l = rule.limits(dtype);
            (l.bitwise, l.rtol, l.atol, l.equal_nan)
        };
        assert_eq!(limits(given(Preset::Torch), Dtype::F16), (false, 0.5, 1e-5, false));
        assert_eq!(limits(given(Preset::Torch), Dtype::I32), (false, 0.5, 0.0, false));
        assert_eq!(limits(given(Preset::Torch), Dtype::Bool), (false, 0.0, 0.0, false));
        assert_eq!(limits(given(Preset::KernelForge), Dtype::F64), (false, 0.5, 1e-2, false));
        assert_eq!(limits(given(Preset::KernelForge), Dtype::I32), (false, 0.0, 0.0, false));
        assert_eq!(limits(given(Preset::KernelForge), Dtype::C64), (false, 0.0, 0.0, false));
        assert_eq!(limits(given(Preset::Exact), Dtype::F16), (false, 0.5, 0.0, true));
        assert!(limits(given(Preset::Exact), Dtype::QI8).0);
        assert!(limits(Comparison::exact(), Dtype::F64).0);
    }

    #[test]
    fn a_reference_in_float64_gives_the_tolerances_that_nobody_has_given() {
        let measured = Tolerances { rtol: Tolerance(1e-6), atol: Tolerance(2e-9) };
        let limits = |rule: Comparison| {
            let limits = rule.with_tolerances(measured).limits(Dtype::F32);
            (limits.rtol, limits.atol, limits.equal_nan)
        };
        assert_eq!(limits(Comparison::float64()), (1e-6, 2e-9, false));
        let given = Comparison { atol: Some(Tolerance(0.5)), equal_nan: Some(true), ..Comparison::float64() };
        assert_eq!(limits(given), (1e-6, 0.5, true));
        for rule in [Comparison::exact(), Comparison::torch(), Comparison::kernelforge()] {
            assert_eq!(rule.with_tolerances(measured), rule, "the user has chosen it");
        }
        let without = |dtype| Comparison::float64().limits(dtype);
        assert_eq!(without(Dtype::F32), Comparison::torch().limits(Dtype::F32));
        assert_eq!((without(Dtype::I64).rtol, without(Dtype::I64).atol), (0.0, 0.0));
    }

    #[test]
    fn serialises_without_what_was_not_given() {
        let json = |rule: &Comparison| serde_json::to_string(rule).unwrap();
        assert_eq!(json(&Comparison::exact()), r#"{"preset":"exact"}"#);
        let rule = Comparison { equal_nan: Some(true), ..Comparison::tolerance(Tolerance(1e-3), Tolerance::ZERO) };
        assert_eq!(json(&rule), r#"{"preset":"torch","rtol":0.001,"atol":0.0,"equal_nan":true}"#);
        assert_eq!(serde_json::from_str::<Comparison>(&json(&rule)).unwrap(), rule);
        assert_eq!(rule.to_string(), "torch, rtol 0.001, atol 0.0, equal_nan");
        assert!(serde_json::from_str::<Comparison>(r#"{"preset":"torch","rtol":-1}"#).is_err());
    }

    #[test]
    fn refuses_what_is_no_tolerance() {
        for text in ["-1", "inf", "NaN", "", "1e-3x"] {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
        assert_eq!("1e-3".parse::<Tolerance>().map(Tolerance::get), Ok(1e-3));
        assert!("close".parse::<Preset>().is_err());
        assert!("float64".parse::<Preset>().is_err(), "nothing would give the tolerances");
        assert_eq!("kernelforge".parse(), Ok(Preset::KernelForge));
    }
}
