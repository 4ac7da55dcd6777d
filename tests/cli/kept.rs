//! Kernels of a library that keep results, on captures of one entry: only changed contents of arguments at the same
//! addresses distinguish a kept result from a right one.

use std::path::Path;
use std::process::Command;

use plimsoll::capture::write::{EntryValue, Options, Source, write_entry};
use plimsoll::capture::{Argument, Dtype, Layout, TensorRef};
use plimsoll::record::{FailureKind, Record};

use crate::library::{built, kernel};
use crate::support::Scene;

const SHAPE: [u64; 2] = [10, 20];

/// Ascending elements, all different unless a byte has too few values; no NaN.
fn ascending(dtype: Dtype, count: u8) -> Vec<Vec<u8>> {
    let size = dtype.size() as usize;
    let element = |n: u8| {
        let mut bytes = vec![0; size];
        bytes[size - 1] = 0x3c;
        bytes[0] = if size == 1 { n / 2 } else { n };
        bytes
    };
    (0..count).map(element).collect()
}

/// A capture of one entry: `x` reversed, beside a `y` that does not matter.
fn scene(dtype: Dtype, expected: impl FnOnce(&[Vec<u8>]) -> Vec<u8>) -> Scene {
    let scene = Scene::new(1);
    let elements = ascending(dtype, 200);
    let storages = [elements.concat(), elements.concat(), expected(&elements)];
    let tensor = |storage| Argument::Tensor(TensorRef { layout: Layout::contiguous(dtype, &SHAPE), storage });
    let value = EntryValue {
        function_name: "torch.nn.functional.silu".to_owned(),
        args: vec![],
        kwargs: vec![("x".to_owned(), tensor(0)), ("y".to_owned(), tensor(1))],
        output: tensor(2),
        signature: None,
    };
    let sources = storages.each_ref().map(|bytes| Source::Bytes(bytes));
    write_entry(&scene.entry(0), &value, &sources, &Options::default()).unwrap();
    scene
}

fn reversed(elements: &[Vec<u8>]) -> Vec<u8> {
    elements.iter().rev().flatten().copied().collect()
}

fn check(scene: &Scene, library: &Path, name: &str) -> Command {
    let mut command = scene.command("check");
    command.args(["--kernel", &kernel(library, name), "--launches", "100", "--warmup", "1"]);
    command
}

/// Asserts that the run ends like one of a kernel that is right but returns a kept result; returns the message.
fn stale(scene: &Scene, command: &mut Command) -> String {
    let (code, record) = scene.run(command);
    let result = &record.results.entries[0];
    assert_eq!((code, result.validation.as_ref().unwrap().error.as_ref()), (1, None), "{:#?}", record.verdicts);
    let failure = result.profile.as_ref().unwrap().error.clone().unwrap();
    assert_eq!(failure.kind, FailureKind::StaleOutput, "{}", failure.message);
    failure.message
}

fn passes(scene: &Scene, command: &mut Command) -> Record {
    let (code, record) = scene.run(command);
    assert_eq!(code, 0, "{:#?}", record.results.entries);
    record
}

#[test]
fn a_result_that_is_kept_by_address_is_stale_on_a_capture_of_one_entry() {
    let scene = scene(Dtype::BF16, reversed);
    let library = built(&scene, "tests/kernels/library/kept.c");
    let message = stale(&scene, &mut check(&scene, &library, "keeps_from_60"));
    assert!(message.contains("other values in its floating-point arguments"), "{message}");
    let message = stale(&scene, &mut check(&scene, &library, "keeps_half"));
    let counts: Vec<u32> = message.split(' ').filter_map(|word| word.parse().ok()).collect();
    // A drawn value may equal the old one.
    assert!(matches!(counts[..], [90..=100, 180..=200]), "{message}");
    for protocol in ["samples", "cold", "until"] {
        stale(&scene, check(&scene, &library, "keeps_from_60").args(["--protocol", protocol, "--max-time", "10ms"]));
    }
}

#[test]
fn a_result_that_is_kept_for_every_address_is_stale_on_a_capture_of_one_entry() {
    let scene = scene(Dtype::BF16, reversed);
    let library = built(&scene, "tests/kernels/library/kept.c");
    let message = stale(&scene, &mut check(&scene, &library, "stops_at_60"));
    assert!(message.contains("before it was timed its output depended on them"), "{message}");
    let message = stale(&scene, &mut check(&scene, &library, "computes_once"));
    assert!(message.contains("a launch after the timed ones does not match"), "{message}");
}

#[test]
fn a_table_that_is_looked_up_by_address_is_stale_on_a_capture_of_one_entry() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    stale(&scene, &mut check(&scene, &library, "caches_by_address"));
    // The same beside another kernel.
    stale(&scene, check(&scene, &library, "caches_by_address").args(["--vs", "builtin:embedding"]));
}

#[test]
fn an_honest_kernel_passes_whatever_its_dtype_and_what_it_leaves_unread() {
    let folder = Scene::new(1);
    let library = built(&folder, "tests/kernels/library/kept.c");
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::BF16, Dtype::F8E4M3FN, Dtype::C64, Dtype::C128, Dtype::I64]
    {
        let scene = scene(dtype, reversed);
        passes(&scene, &mut check(&scene, &library, "reverses"));
        if dtype.is_integer() {
            // Integers are not altered, because they may be indices.
            passes(&scene, &mut check(&scene, &library, "keeps_half"));
        } else {
            stale(&scene, &mut check(&scene, &library, "keeps_half"));
        }
    }
}

#[test]
fn a_kernel_that_changes_its_argument_as_it_is_meant_to_is_judged_on_what_was_captured() {
    let scene = scene(Dtype::F32, reversed);
    let library = built(&scene, "tests/kernels/library/kept.c");
    passes(&scene, check(&scene, &library, "halves_in_place").args(["--mutates", "x"]));
    stale(&scene, check(&scene, &library, "keeps_and_halves_in_place").args(["--mutates", "x"]));
}

#[test]
fn a_kernel_whose_results_differ_by_themselves_or_that_fails_on_other_contents_is_not_accused() {
    let sorted = scene(Dtype::F32, reversed);
    let library = built(&sorted, "tests/kernels/library/kept.c");
    passes(&sorted, &mut check(&sorted, &library, "is_noisy"));
    passes(&sorted, &mut check(&sorted, &library, "demands_order"));
    let ones = scene(Dtype::F32, |elements| 1f32.to_le_bytes().repeat(elements.len()));
    let library = built(&ones, "tests/kernels/library/kept.c");
    passes(&ones, &mut check(&ones, &library, "is_noise_alone"));
}
