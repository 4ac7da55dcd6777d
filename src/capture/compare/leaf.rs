//! Values that are not tensors, and values against tensors.

use super::element::{self, Element};
use super::outcome::LeafOutcome;
use super::rule::{Comparison, Preset};
use super::tensor::{Reader, compare_tensors};
use crate::{Argument, Dtype, Layout, TensorView};

/// One value of an output: a tensor or anything else that holds no other values. A comparison reads both sides in
/// place, whether in the file of a capture or in the memory of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// A tensor.
    Tensor(TensorView<'a>),
    /// Anything else, such as a number or None.
    Value(&'a Argument),
}

/// Compares two leaves: [`compare_tensors`] or [`compare_values`].
///
/// Under the `kernelforge` preset a tensor of one element is compared with a number as that element; otherwise a tensor
/// matches no number.
pub fn compare_leaves(path: &str, expected: Leaf<'_>, actual: Leaf<'_>, rule: &Comparison) -> LeafOutcome {
    let (tensor, value) = match (expected, actual) {
        (Leaf::Tensor(expected), Leaf::Tensor(actual)) => return compare_tensors(path, expected, actual, rule),
        (Leaf::Value(expected), Leaf::Value(actual)) => return compare_values(path, expected, actual, rule),
        (Leaf::Tensor(tensor), Leaf::Value(value)) | (Leaf::Value(value), Leaf::Tensor(tensor)) => (tensor, value),
    };
    let spec = tensor.layout().spec();
    let spec_if_expected = matches!(expected, Leaf::Tensor(_)).then(|| spec.clone());
    let item = item(tensor).filter(|_| rule.preset == Preset::KernelForge && Number::of(value).is_some());
    let outcome = match (item, expected) {
        (Some(item), Leaf::Tensor(_)) => compare_values(path, &item, value, rule),
        (Some(item), Leaf::Value(_)) => compare_values(path, value, &item, rule),
        (None, _) => {
            let words = |leaf: Leaf<'_>| match leaf {
                Leaf::Tensor(_) => format!("a tensor {} {:?}", spec.dtype, spec.shape),
                Leaf::Value(value) => text(value),
            };
            failure(path, format!("expected {}, got {}", words(expected), words(actual)))
        }
    };
    LeafOutcome { expected: spec_if_expected, ..outcome }
}

/// Compares two values that are not tensors and hold no other values.
///
/// Numbers are judged like tensors of one element: ints as `int64`, floats as `float64`, complex numbers as
/// `complex128`. They must be of one kind, except under the `kernelforge` preset, which compares a bool as 0 or 1 and
/// an int with a float as floats. Other values match if they are equal. A value of another kind, an object that is not
/// a plain value, and a list, tuple, dict or tensor (whose leaves are for [`compare_leaves`]) become the outcome's
/// `problem`.
pub fn compare_values(path: &str, expected: &Argument, actual: &Argument, rule: &Comparison) -> LeafOutcome {
    if let (Some(mut e), Some(mut a)) = (Number::of(expected), Number::of(actual)) {
        if rule.preset == Preset::KernelForge {
            while e.dtype() != a.dtype() {
                if e.rank() < a.rank() { e = e.wider() } else { a = a.wider() }
            }
        }
        if e.dtype() == a.dtype() {
            let (layout, e, a) = (Layout::contiguous(e.dtype(), &[]), e.bytes(), a.bytes());
            let view = |bytes| TensorView::new(&layout, bytes).expect("a scalar tensor over its own bytes");
            return LeafOutcome { expected: None, ..compare_tensors(path, view(&e), view(&a), rule) };
        }
    }
    let comparable = !matches!(
        expected,
        Argument::Tensor(_) | Argument::List(_) | Argument::Tuple(_) | Argument::Dict(_) | Argument::Opaque { .. }
    );
    if comparable && expected == actual {
        return LeafOutcome {
            path: path.to_owned(),
            passed: true,
            problem: None,
            expected: None,
            tolerances: None,
            elements: None,
        };
    }
    let why = if comparable { "" } else { ": values of this kind cannot be compared" };
    failure(path, format!("expected {}, got {}{why}", text(expected), text(actual)))
}

fn failure(path: &str, problem: String) -> LeafOutcome {
    LeafOutcome {
        path: path.to_owned(),
        passed: false,
        problem: Some(problem),
        expected: None,
        tolerances: None,
        elements: None,
    }
}

/// A value for messages, about 80 characters at most, with its kind if the text does not show it.
fn text(value: &Argument) -> String {
    match value {
        Argument::None => "None".to_owned(),
        Argument::List(items) | Argument::Tuple(items) => format!("a {} of {} values", value.kind(), items.len()),
        Argument::Dict(items) => format!("a dict of {} values", items.len()),
        Argument::Tensor(_) | Argument::Opaque { .. } => value.to_string(),
        _ => {
            let text = value.to_string();
            match text.char_indices().nth(80) {
                Some((end, _)) => format!("{} {}...", value.kind(), &text[..end]),
                None => format!("{} {text}", value.kind()),
            }
        }
    }
}

/// The element of a tensor of one element, as Python's `Tensor.item` gives it; `None` for other tensors, bits, and a byte
/// of two values.
fn item(tensor: TensorView<'_>) -> Option<Argument> {
    if tensor.numel() != 1 || element::values_per_element(tensor.dtype()) != 1 {
        return None;
    }
    let mut reader = Reader::new(tensor);
    let (_, bytes) = reader.next_chunk()?;
    match Element::at(tensor.dtype(), bytes, 0).number {
        element::Number::Single(x) => Some(Argument::Float(x.into())),
        element::Number::Double(x) => Some(Argument::Float(x)),
        element::Number::Complex(re, im) => Some(Argument::Complex(re, im)),
        element::Number::Integer(n) => {
            Some(i64::try_from(n).map_or_else(|_| Argument::BigInt(n.to_string()), Argument::Int))
        }
        element::Number::Truth(byte) => Some(Argument::Bool(byte != 0)),
        element::Number::Bits => None,
    }
}

/// A Python number as a tensor of one element.
#[derive(Clone, Copy)]
enum Number {
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
}

impl Number {
    fn of(value: &Argument) -> Option<Self> {
        match *value {
            Argument::Bool(x) => Some(Self::Bool(x)),
            Argument::Int(x) => Some(Self::Int(x)),
            Argument::Float(x) => Some(Self::Float(x)),
            Argument::Complex(re, im) => Some(Self::Complex(re, im)),
            _ => None,
        }
    }

    fn dtype(self) -> Dtype {
        match self {
            Self::Bool(_) => Dtype::Bool,
            Self::Int(_) => Dtype::I64,
            Self::Float(_) => Dtype::F64,
            Self::Complex(..) => Dtype::C128,
        }
    }

    /// The rank among the kinds; each kind holds the numbers of the kinds before it.
    fn rank(self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) => 1,
            Self::Float(_) => 2,
            Self::Complex(..) => 3,
        }
    }

    /// This number in the next wider kind; a complex number stays as it is.
    fn wider(self) -> Self {
        match self {
            Self::Bool(x) => Self::Int(x.into()),
            Self::Int(x) => Self::Float(x as f64),
            Self::Float(x) => Self::Complex(x, 0.0),
            Self::Complex(..) => self,
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Bool(x) => vec![x.into()],
            Self::Int(x) => x.to_le_bytes().to_vec(),
            Self::Float(x) => x.to_le_bytes().to_vec(),
            Self::Complex(re, im) => [re.to_le_bytes(), im.to_le_bytes()].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(expected: &Argument, actual: &Argument, rule: &Comparison) -> bool {
        compare_values("[1]", expected, actual, rule).passed
    }

    #[test]
    fn numbers_are_judged_by_the_rule() {
        use Argument::{Bool, Complex, Float, Int};
        let (exact, torch, forge) = (Comparison::exact(), Comparison::torch(), Comparison::kernelforge());
        for (expected, actual, rules) in [
            (Int(3), Int(3), [true, true, true]),
            (Int(100), Int(101), [false, false, false]),
            (Float(1.0), Float(1.0 + 1e-9), [false, true, true]),
            (Float(1.0), Float(1.05), [false, false, true]),
            (Float(1.0), Float(f64::INFINITY), [false, false, false]),
            (Float(f64::NAN), Float(f64::NAN), [true, false, false]),
            (Int(1), Float(1.0), [false, false, true]),
            (Bool(true), Int(1), [false, false, true]),
            (Float(2.0), Complex(2.0, 0.0), [false, false, true]),
            (Bool(true), Bool(false), [false, false, false]),
        ] {
            let found = [&exact, &torch, &forge].map(|rule| passes(&expected, &actual, rule));
            assert_eq!(found, rules, "{expected} {actual}");
        }
    }

    #[test]
    fn other_values_are_equal_or_a_problem() {
        let rule = Comparison::torch();
        let string = |s: &str| Argument::Str(s.to_owned());
        assert!(passes(&Argument::None, &Argument::None, &rule));
        assert!(passes(&string("a"), &string("a"), &rule));
        let outcome = compare_values("[1]", &string("mean"), &Argument::Int(3), &rule);
        assert_eq!(outcome.problem.as_deref(), Some(r#"expected str "mean", got int 3"#));
        assert_eq!((outcome.path.as_str(), outcome.passed), ("[1]", false));
        let list = Argument::List(vec![]);
        assert!(!passes(&list, &list, &rule));
        let long = compare_values("", &string(&"é".repeat(10_000)), &Argument::None, &rule);
        assert!(long.problem.unwrap().chars().count() < 120);
    }

    #[test]
    fn a_tensor_of_one_element_matches_a_number_for_kernelforge_alone() {
        let layout = Layout::contiguous(Dtype::F16, &[1, 1]);
        let bytes = half::f16::from_f32(0.1).to_le_bytes();
        let tensor = Leaf::Tensor(TensorView::new(&layout, &bytes).unwrap());
        let number = Argument::Float(0.1);
        let outcome = compare_leaves("", tensor, Leaf::Value(&number), &Comparison::kernelforge());
        assert!(outcome.passed && outcome.expected == Some(layout.spec()));
        assert!(compare_leaves("", Leaf::Value(&number), tensor, &Comparison::kernelforge()).passed);
        let outcome = compare_leaves("", tensor, Leaf::Value(&number), &Comparison::torch());
        assert_eq!(outcome.problem.as_deref(), Some("expected a tensor float16 [1, 1], got float 0.1"));
    }
}
