//! Every operator that a profiling hook captures, on captures written by torch.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll::capture::synthesize::{Computed, ComputedValue, OperatorCall, Options};
use plimsoll::capture::{Argument, Capture, Dtype, Entry, Layout, ParameterOrder, TensorRef, TensorView};
use plimsoll::compare::{Comparison, Leaf, compare_leaves};
use plimsoll::kernel::{Call, Elements, GivenValue, KernelError, Operator};
use plimsoll_torch::TorchOperator;

use crate::support::{python, script};

/// The required functions: those of torch.nn.functional that KernelForge captures.
const EXPECTED: &str = "embedding linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d \
    batch_norm layer_norm group_norm rms_norm instance_norm softmax log_softmax gelu relu silu sigmoid tanh \
    scaled_dot_product_attention pad adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d \
    max_pool2d avg_pool1d avg_pool2d avg_pool3d interpolate one_hot cross_entropy grid_sample affine_grid nll_loss \
    mse_loss leaky_relu elu hardtanh relu6 mish hardswish glu unfold fold pixel_shuffle cosine_similarity logsigmoid \
    dropout2d grouped_mm max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d upsample_nearest \
    upsample_bilinear embedding_bag";
/// Functions of Python that are more than one operator.
const COMPOSED: [&str; 1] = ["normalize"];

/// Prints the public functions of torch.nn.functional.
const FUNCTIONS: &str = "
import inspect, torch.nn.functional as F
print(*(name for name in dir(F) if not name.startswith('_') and inspect.isroutine(getattr(F, name))))
";
/// Functions for torch's own use, and those of formats below 8 bits, whose operators have other parameters.
const NOT_OPERATORS: &str = "assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function \
    has_torch_function_unary has_torch_function_variadic scaled_mm scaled_grouped_mm";

#[test]
fn every_function_of_python_is_reached_or_said_to_be_composed() {
    let output = std::process::Command::new(python()).args(["-c", FUNCTIONS]).output().unwrap();
    let functions = String::from_utf8(output.stdout).unwrap();
    assert!(functions.split_whitespace().count() > 100, "{functions}");
    let unreached = |name: &&str| {
        let error = TorchOperator::named(name).err().map(|error| error.to_string());
        error.is_some_and(|error| !error.contains("Python composes it from "))
    };
    let unreached: Vec<&str> = functions.split_whitespace().filter(unreached).collect();
    assert_eq!(unreached, NOT_OPERATORS.split_whitespace().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
}

#[test]
fn every_operator_gives_what_python_gave() {
    let dir = tempfile::tempdir().unwrap();
    script("capture_operators.py", dir.path());
    let mut seen = BTreeSet::new();
    for folder in std::fs::read_dir(dir.path().join("store/captures")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let function = name.strip_prefix("torch_nn_functional_").unwrap().to_owned();
        if COMPOSED.contains(&function.as_str()) {
            let error = TorchOperator::named(&function).unwrap_err().to_string();
            assert!(error.contains("Python composes it from aten::norm, aten::clamp_min"), "{error}");
            continue;
        }
        validate(&folder.path());
        seen.insert(function);
    }
    for function in EXPECTED.split_whitespace() {
        assert!(seen.contains(function), "no call of {function} was captured, but of {seen:?}");
    }
}

/// Launches the operator of a capture on every entry of it, in this process.
fn validate(folder: &Path) {
    let capture = Capture::open(folder).unwrap();
    let operator = TorchOperator::named(capture.function_name()).unwrap();
    let rule = Comparison::for_operator(capture.function_name());
    for entry in capture.entries() {
        let entry = entry.unwrap();
        let at = format!("{} {}", capture.function_name(), entry.name());
        let bound = entry.bind_by_name(capture.order()).unwrap();
        let mapped = entry.map().unwrap();
        let storages: Vec<&[u8]> = (0..entry.storages().len()).map(|i| mapped.storage(i).unwrap()).collect();
        let call = Call { params: &bound.params, args: &bound.args, storages: &storages, outputs: &[] };
        let mut evaluation = operator.bind(&call).unwrap_or_else(|error| panic!("{at}: {error}"));
        // The second launch gives the same result as the first.
        for _ in 0..2 {
            evaluation.launch().unwrap_or_else(|error| panic!("{at}: {error}"));
        }
        let given = evaluation.given().unwrap();
        let mut expected = Vec::new();
        entry.output().for_each_leaf(&mut String::new(), &mut |path, leaf| expected.push((path.to_owned(), leaf)));
        assert_eq!(given.len(), expected.len(), "{at}");
        for ((path, expected), given) in expected.iter().zip(&given) {
            assert_eq!(*path, given.path, "{at}");
            let expected = match expected {
                Argument::Tensor(tensor) => Leaf::Tensor(mapped.view(tensor).unwrap()),
                value => Leaf::Value(value),
            };
            let outcome = match &given.value {
                GivenValue::Tensor { spec, elements: Elements::Host(bytes) } => {
                    let layout = Layout::contiguous(spec.dtype, &spec.shape);
                    let actual = TensorView::new(&layout, bytes).unwrap();
                    compare_leaves(path, expected, Leaf::Tensor(actual), &rule)
                }
                GivenValue::Value(value) => compare_leaves(path, expected, Leaf::Value(value), &rule),
                elsewhere => panic!("{at}: {elsewhere:?}"),
            };
            assert!(outcome.passed, "{at}: {outcome:#?}");
        }
    }
}

/// The output of `operator` for these arguments, whose tensors are in one storage.
fn called(operator: &str, args: &[(&str, Argument)], storage: &[u8]) -> Result<Vec<(String, String)>, KernelError> {
    let params: Vec<String> = args.iter().map(|(name, _)| (*name).to_owned()).collect();
    let args: Vec<Argument> = args.iter().map(|(_, value)| value.clone()).collect();
    let call = Call { params: &params, args: &args, storages: &[storage], outputs: &[] };
    let operator = TorchOperator::named(operator)?;
    let mut evaluation = operator.bind(&call)?;
    evaluation.launch()?;
    let shown = |value: GivenValue<'_>| match value {
        GivenValue::Tensor { spec, elements: Elements::Host(bytes) } => {
            format!("{} {:?} {bytes:?}", spec.dtype, spec.shape)
        }
        GivenValue::Value(value) => value.to_string(),
        elsewhere => panic!("{elsewhere:?}"),
    };
    Ok(evaluation.given()?.into_iter().map(|given| (given.path, shown(given.value))).collect())
}

fn bytes(shape: &[u64]) -> Argument {
    Argument::Tensor(TensorRef { layout: Layout::contiguous(Dtype::U8, shape), storage: 0 })
}

#[test]
fn tensors_lie_in_their_storage_as_their_layout_says() {
    let storage: Vec<u8> = (0..12).collect();
    let layout = Layout { strides: vec![1, 3], offset: 2, ..Layout::contiguous(Dtype::U8, &[3, 2]) };
    let view = Argument::Tensor(TensorRef { layout, storage: 0 });
    let given = called("aten::clone", &[("self", view)], &storage).unwrap();
    assert_eq!(given, [(String::new(), "uint8 [3, 2] [2, 5, 3, 6, 4, 7]".to_owned())]);
    // The second of two results, and what is no tensor.
    let given = called("torch.max", &[("input", bytes(&[2, 3])), ("dim", Argument::Int(1))], &storage).unwrap();
    let expected = [("[0]", "uint8 [2] [2, 5]"), ("[1]", "int64 [2] [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]")];
    assert_eq!(given, expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
    assert_eq!(
        called("aten::size.int", &[("self", bytes(&[7])), ("dim", Argument::Int(0))], &storage).unwrap()[0].1,
        "7"
    );
    let empty = called("aten::clone", &[("self", bytes(&[0, 4]))], &[]).unwrap();
    assert_eq!(empty[0].1, "uint8 [0, 4] []");
}

#[test]
fn values_are_taken_as_python_takes_them() {
    let storage: Vec<u8> = (0..12).collect();
    let arguments = |value| [("input", bytes(&[2, 3])), ("other", value)];
    let added = |value| called("torch.add", &arguments(value), &storage).map(|given| given[0].1.clone());
    assert_eq!(added(Argument::Int(250)).unwrap(), "uint8 [2, 3] [250, 251, 252, 253, 254, 255]");
    assert_eq!(added(bytes(&[3])).unwrap(), "uint8 [2, 3] [0, 2, 4, 3, 5, 7]");
    assert!(added(Argument::Complex(1.0, 2.0)).unwrap().starts_with("complex64 [2, 3]"));
    let dtype = [("self", bytes(&[1])), ("dtype", Argument::Dtype(Dtype::I16))];
    assert_eq!(called("aten::to.dtype", &dtype, &storage).unwrap()[0].1, "int16 [1] [0, 0]");
    let list = [("tensors", Argument::List(vec![bytes(&[2]), bytes(&[3])]))];
    assert_eq!(called("torch.cat", &list, &storage).unwrap()[0].1, "uint8 [5] [0, 1, 0, 1, 2]");
    let device = |name: &str| [("self", bytes(&[1])), ("device", Argument::Device(name.into()))];
    assert_eq!(called("aten::zeros_like", &device("cpu"), &storage).unwrap()[0].1, "uint8 [1] [0]");
    assert!(matches!(called("aten::zeros_like", &device("nowhere"), &storage), Err(KernelError::Exception { .. })));
}

#[test]
fn errors_of_libtorch_are_typed_and_without_its_stack() {
    let exception = called("aten::mm", &[("self", bytes(&[2, 3])), ("mat2", bytes(&[2, 3]))], &[0; 12]).unwrap_err();
    let message = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)";
    assert_eq!(exception, KernelError::Exception { message: message.to_owned() });
    let size = Argument::List(vec![Argument::Int(1 << 50)]);
    let refused = called("aten::zeros", &[("size", size)], &[]).unwrap_err();
    assert!(matches!(refused, KernelError::OutOfMemory { .. }), "{refused}");
    let outside = called("aten::clone", &[("self", bytes(&[13]))], &[0; 12]).unwrap_err();
    assert!(matches!(outside, KernelError::OutsideStorage { .. }), "{outside}");
    for (name, message) in
        [("aten::nothing", "no operator"), ("aten::add.nothing", "no operator"), ("lstm", "does not take")]
    {
        let refused = called(name, &[("self", bytes(&[2]))], &[0; 12]).unwrap_err();
        assert!(matches!(&refused, KernelError::NotReachable { message: said } if said.contains(message)), "{refused}");
    }
}

#[test]
fn every_example_of_generate_is_a_call_that_the_operator_takes() {
    let dir = tempfile::tempdir().unwrap();
    for name in OperatorCall::examples() {
        let mut compute = |entry: &Entry| -> Result<Vec<Computed>, String> {
            let bound = entry.bind_by_name(&ParameterOrder::of([entry])).unwrap();
            let mapped = entry.map().unwrap();
            let storages: Vec<&[u8]> = (0..entry.storages().len()).map(|i| mapped.storage(i).unwrap()).collect();
            let call = Call { params: &bound.params, args: &bound.args, storages: &storages, outputs: &[] };
            let operator = TorchOperator::named(name).map_err(|error| error.to_string())?;
            let mut evaluation = operator.bind(&call).map_err(|error| error.to_string())?;
            evaluation.launch().map_err(|error| error.to_string())?;
            let given = evaluation.given().map_err(|error| error.to_string())?;
            let computed = given.into_iter().map(|given| match given.value {
                GivenValue::Tensor { spec, elements: Elements::Host(bytes) } => {
                    // An example must have outputs that reveal something.
                    assert!(bytes.iter().any(|&byte| byte != bytes[0]), "{name}");
                    Computed { path: given.path, value: ComputedValue::Tensor(spec, bytes.to_vec()) }
                }
                other => panic!("{name} gives {other:?}"),
            });
            Ok(computed.collect())
        };
        let written = OperatorCall::named(name).write(&dir.path().join(name), 1, 0, &Options::default(), &mut compute);
        written.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
