use plimsoll::capture::{Dtype, Layout, TensorRef};

use super::interpolate::scalars;
use super::*;

fn tensor(shape: &[u64]) -> Argument {
    Argument::Tensor(TensorRef { layout: Layout::contiguous(Dtype::F32, shape), storage: 0 })
}

fn lower(function: &str, given: &[(&str, Argument)]) -> Result<Lowered, String> {
    let params: Vec<String> = given.iter().map(|(name, _)| (*name).to_owned()).collect();
    let args: Vec<Argument> = given.iter().map(|(_, value)| value.clone()).collect();
    Function::named(function).lower(&params, &args).map_err(|error| error.to_string())
}

fn shown(lowered: &Lowered) -> String {
    let argument = |(name, value): &(Option<String>, Argument)| match name {
        Some(name) => format!("{name}={value}"),
        None => value.to_string(),
    };
    let overload = lowered.overload.as_ref().map_or_else(String::new, |name| format!(".{name}"));
    let arguments: Vec<String> = lowered.arguments.iter().map(argument).collect();
    format!("{}{overload}({})", lowered.operator, arguments.join(", "))
}

#[test]
fn a_function_without_a_rule_is_the_operator_of_its_name_with_its_arguments() {
    let given = [("input", tensor(&[2, 3])), ("weight", tensor(&[4, 3])), ("bias", Argument::None)];
    let expected = "aten::linear(input=tensor(float32, [2, 3]), weight=tensor(float32, [4, 3]), bias=None)";
    for name in ["linear", "torch.nn.functional.linear", "F.linear", "torch._C._nn.linear", "aten::linear"] {
        assert_eq!(shown(&lower(name, &given).unwrap()), expected);
    }
    let given = [("arg0", Argument::Int(1)), ("arg1", Argument::Int(2)), ("out", Argument::None)];
    assert_eq!(shown(&lower("torch.add", &given).unwrap()), "aten::add(1, 2)");
    assert_eq!(shown(&lower("aten::add.Tensor", &given).unwrap()), "aten::add.Tensor(1, 2)");
}

#[test]
fn arguments_without_a_name_are_those_of_pythons_parameters() {
    let given =
        [("arg0", tensor(&[5])), ("arg1", tensor(&[9, 4])), ("arg2", Argument::Int(-1)), ("arg3", Argument::None)];
    let expected = "aten::embedding(indices=tensor(float32, [5]), weight=tensor(float32, [9, 4]), padding_idx=8)";
    assert_eq!(shown(&lower("embedding", &given).unwrap()), expected);
}

#[test]
fn flags_of_python_choose_the_operator() {
    let x = || ("input", tensor(&[1, 2, 8, 8]));
    let flag = |name, value| (name, Argument::Bool(value));
    let operator = |function, given: &[_]| lower(function, given).unwrap().operator;
    assert_eq!(operator("relu", &[x(), flag("inplace", false)]), "aten::relu");
    assert_eq!(operator("relu", &[x(), flag("inplace", true)]), "aten::relu_");
    assert_eq!(operator("max_pool2d", &[x(), flag("return_indices", true)]), "aten::max_pool2d_with_indices");
    assert_eq!(operator("max_pool2d", &[x()]), "aten::max_pool2d");
    assert!(lower("adaptive_max_pool2d", &[x()]).unwrap().first);
    assert!(!lower("adaptive_max_pool2d", &[x(), flag("return_indices", true)]).unwrap().first);
    let error = lower("relu", &[x(), ("inplace", Argument::Int(1))]).unwrap_err();
    assert_eq!(error, "relu: argument `inplace` must be a bool, but is 1");
}

#[test]
fn words_of_python_become_numbers() {
    let given = |word: &str| {
        let text = Argument::Str(word.to_owned());
        [("input", tensor(&[2, 3])), ("target", tensor(&[2])), ("reduction", text)]
    };
    let shown = |word| lower("cross_entropy", &given(word)).map(|lowered| shown(&lowered));
    let expected = "aten::cross_entropy_loss(input=tensor(float32, [2, 3]), target=tensor(float32, [2]), reduction=";
    assert_eq!(shown("none").unwrap(), format!("{expected}0)"));
    assert_eq!(shown("sum").unwrap(), format!("{expected}2)"));
    assert_eq!(shown("batchmean").unwrap_err(), "cross_entropy: reduction=\"batchmean\" needs more than one operator");
    let legacy = [("input", tensor(&[2])), ("target", tensor(&[2])), ("size_average", Argument::Bool(false))];
    assert_eq!(lower("mse_loss", &legacy).unwrap().arguments.last().unwrap().1, Argument::Int(2));
}

#[test]
fn the_dimension_of_a_softmax_is_pythons() {
    for (shape, dim) in [(&[4][..], 0), (&[4, 5], 1), (&[2, 3, 4], 0), (&[2, 3, 4, 5], 1)] {
        let lowered = lower("softmax", &[("input", tensor(shape)), ("_stacklevel", Argument::Int(3))]).unwrap();
        assert_eq!(lowered.arguments[1], (Some("dim".to_owned()), Argument::Int(dim)), "{shape:?}");
    }
}

#[test]
fn interpolation_has_an_operator_a_mode_and_number_of_dimensions() {
    let text = |text: &str| Argument::Str(text.to_owned());
    let image = ("input", tensor(&[1, 2, 5, 6]));
    let shown = |given: &[_]| lower("interpolate", given).map(|lowered| shown(&lowered));
    let input = "input=tensor(float32, [1, 2, 5, 6])";
    assert_eq!(
        shown(&[image.clone(), ("scale_factor", Argument::Float(2.0)), ("mode", text("bilinear"))]).unwrap(),
        format!(
            "aten::upsample_bilinear2d.vec({input}, output_size=None, align_corners=False, scale_factors=[2.0, 2.0])"
        )
    );
    assert_eq!(
        shown(&[image.clone(), ("size", Argument::Int(7))]).unwrap(),
        format!("aten::upsample_nearest2d.vec({input}, output_size=[7, 7], scale_factors=None)")
    );
    assert_eq!(
        shown(&[image.clone(), ("scale_factor", Argument::Float(1.5)), ("mode", text("area"))]).unwrap(),
        format!("aten::adaptive_avg_pool2d({input}, output_size=[7, 9])")
    );
    let error = shown(&[image, ("size", Argument::Int(7)), ("mode", text("linear"))]).unwrap_err();
    assert_eq!(error, "interpolate: there is no mode \"linear\" for 2 dimensions");
}

#[test]
fn a_size_of_none_is_that_of_the_input() {
    let sizes = Argument::Tuple(vec![Argument::None, Argument::Int(3)]);
    let lowered = lower("adaptive_avg_pool2d", &[("input", tensor(&[1, 2, 5, 6])), ("output_size", sizes)]).unwrap();
    assert_eq!(lowered.arguments[1].1, scalars(&[5, 3]));
}
