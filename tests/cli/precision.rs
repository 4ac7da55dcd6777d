//! References in `float64`: how near an output must come to the exact one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use plimsoll::compare::Comparison;
use plimsoll::record::{Record, Semantics, Validation};

use crate::support::{Scene, plimsoll, run, torch_python};

/// The kernels of precision.py by their operators, with the ends that float64 and the tolerances of torch give them.
type Kernels = BTreeMap<String, Vec<(String, String, String)>>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels/precision.py")
}

/// The record of a validation of all kernels of an operator.
fn validated(scene: &Scene, python: &Path, function: &str, flags: &[&str]) -> Record {
    let record = scene.path(&format!("{function}{}.json", flags.concat()));
    let mut command = plimsoll();
    command.arg("validate").arg(scene.path("captures").join(function)).arg("--record").arg(&record);
    command.arg("--kernel").arg(format!("py:{}", file().display())).arg("--python").arg(python).args(flags);
    run(&mut command);
    serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap()
}

fn validations(record: &Record) -> Vec<Validation> {
    record.results.entries.iter().map(|entry| entry.validation.clone().unwrap()).collect()
}

/// The kernels that did not end as they should.
fn wrong(record: &Record, ends: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let found = validations(record).into_iter().zip(ends);
    let wrong = found.filter(|(validation, (_, end))| format!("{:?}", validation.status).to_lowercase() != *end);
    wrong.map(|(validation, (name, end))| format!("{name}: {end} expected; {validation:?}")).collect()
}

#[test]
fn outputs_may_be_as_far_off_as_their_dtype_makes_them() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let (code, out, err) = run(Command::new(&python).arg(file()).arg(scene.path("captures")));
    assert_eq!(code, 0, "{err}");
    let kernels: Kernels = serde_json::from_str(&out).unwrap();
    let by_float64 = |function: &String| {
        let ends = kernels[function].iter().map(|(name, end, _)| (name.clone(), end.clone()));
        let record = validated(&scene, &python, function, &["--reference", "float64"]);
        let Semantics::Capture(semantics) = &record.semantics else { panic!("{:?}", record.semantics) };
        let moves = function == "embedding";
        assert_eq!(semantics.comparison, Some(if moves { Comparison::exact() } else { Comparison::float64() }));
        let name = &semantics.reference.as_ref().unwrap().name;
        assert!(name.starts_with("float64:") && name.ends_with(function), "{name}");
        for leaf in validations(&record).iter().flat_map(|validation| &validation.leaves) {
            let of_floats = leaf.expected.as_ref().is_some_and(|spec| spec.dtype.is_float());
            assert_eq!(leaf.tolerances.is_some(), of_floats && !moves, "{function}: {leaf:?}");
        }
        wrong(&record, ends)
    };
    // The same kernels by fixed tolerances: what these accuse and let pass.
    let by_torch = |function: &String| {
        let ends = kernels[function].iter().map(|(name, _, end)| (name.clone(), end.clone()));
        wrong(&validated(&scene, &python, function, &["--compare", "torch"]), ends)
    };
    let functions: Vec<&String> = kernels.keys().collect();
    let wrong: Vec<String> = thread::scope(|scope| {
        let fixed = scope.spawn(|| ["linear", "softmax"].map(|function| by_torch(&function.to_owned())).concat());
        let measured = functions.chunks(functions.len().div_ceil(2));
        let measured = measured.map(|part| scope.spawn(|| part.iter().flat_map(|f| by_float64(f)).collect::<Vec<_>>()));
        let measured: Vec<_> = measured.collect();
        measured.into_iter().chain([fixed]).flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Writes the captures of `alike.py` to the folder `alike`: that file, and what it prints of them.
fn alike(python: &Path, scene: &Scene) -> (PathBuf, String) {
    let alike = file().with_file_name("cheats").join("alike.py");
    let (code, out, err) = run(Command::new(python).arg(&alike).arg(scene.path("alike")));
    assert_eq!(code, 0, "{err}");
    (alike, out)
}

#[test]
fn an_audit_holds_outputs_of_drawn_values_to_the_tolerances_of_float64() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let (alike, out) = alike(&python, &scene);
    let kernels: BTreeMap<String, Vec<(String, String)>> = serde_json::from_str(&out).unwrap();
    let mut command = plimsoll();
    command.arg("check").arg(scene.path("alike/linear")).arg("--record").arg(scene.record());
    command.arg("--kernel").arg(format!("py:{}", alike.display())).arg("--python").arg(&python);
    command.args(["--warmup", "1", "--launches", "20", "--audit", "--reference", "float64"]);
    let (_, record) = scene.run(&mut command);
    for ((name, end), entry) in kernels["linear"].iter().zip(record.results.entries.iter()) {
        let found = entry.failure().map_or("timed", |failure| failure.kind.name());
        assert_eq!(found, end, "{name}: {:?}", entry.failure());
    }
}

/// A reference that gave up on a kernel that is slightly wrong would not see how wrong it is later.
#[test]
fn a_kernel_that_is_wrong_as_little_as_rounding_is_judged_by_its_reference_to_the_end() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    alike(&python, &scene);
    let kernel = |right: &str| {
        format!(
            "import torch\nSEEN, FIRST = [], torch.load({:?})['args'][0][0, 0]\ndef launch(x, w):\n    \
             right = torch.nn.functional.linear(x, w)\n    if x[0, 0] == FIRST: return right\n    SEEN.append(0)\n    \
             return right + 1.6e-5 * x[:, :1].sign() if {right} else x.sum(1, keepdim=True) + w.sum(1)\n",
            scene.path("alike/linear/entry_000000.pt")
        )
    };
    for (name, right, end) in [("off.py", "True", "timed"), ("later.py", "len(SEEN) <= 30", "stale-output")] {
        let path = scene.path(name);
        std::fs::write(&path, kernel(right)).unwrap();
        let mut command = plimsoll();
        command.arg("check").arg(scene.path("alike/linear/entry_000000.pt")).arg("--record").arg(scene.record());
        command.arg("--kernel").arg(format!("py:{}", path.display())).arg("--python").arg(&python);
        command.args(["--warmup", "1", "--launches", "60", "--audit"]);
        let (_, record) = scene.run(&mut command);
        let entry = &record.results.entries[0];
        let found = entry.failure().map_or("timed", |failure| failure.kind.name());
        assert_eq!(found, end, "{name}: {:?}", entry.failure());
        match entry.profile.as_ref().and_then(|profile| profile.audit.as_ref()) {
            Some(audit) => {
                assert_eq!((audit.reference.as_deref(), &audit.unreferenced), (Some("torch:linear"), &None), "{name}");
            }
            None => {
                let said = entry.failure().map_or("", |failure| &failure.message);
                assert!(said.contains("torch:linear"), "{name}: {entry:#?}");
            }
        }
    }
}

#[test]
fn a_reference_in_float64_needs_torch_and_a_rule_of_its_own_is_no_flag() {
    let scene = Scene::new(1);
    let reference = ["--kernel", "builtin:embedding", "--reference", "float64"];
    let (code, _, err) = run(scene.command("validate").args(reference).args(["--python", "/no/python"]));
    assert!(code == 3 && err.contains("/no/python could not be started") && err.contains("--python"), "{code} {err}");
    let (code, _, err) = run(scene.command("validate").args(reference).args(["--compare", "float64"]));
    assert!(code == 2 && err.contains("`exact`, `kernelforge` or `torch`"), "{code} {err}");
    let (code, _, err) = run(scene.command("check").args(reference));
    assert!(code == 2 && err.contains("--reference is for validate and --audit"), "{code} {err}");
}
