//! `kernel new`: kernels to begin with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::record::{FailureKind, Record};

use crate::support::{Scene, plimsoll, run, torch_python};

/// `kernel new NAME --lang LANG` in the folder of `scene`.
fn new(scene: &Scene, name: &str, language: &str, capture: Option<&Path>) -> (i32, String, String) {
    let mut command = plimsoll();
    command.current_dir(scene.path("")).args(["kernel", "new", name, "--lang", language]);
    run(command.args(capture.iter().flat_map(|capture| [Path::new("--capture"), capture])))
}

/// Follows the command's instructions: builds, then checks on `capture`.
fn built_and_checked(scene: &Scene, said: &str, capture: &Path, python: Option<&Path>) -> (i32, Record) {
    let line = |what: &str| said.lines().find_map(|line| line.strip_prefix(what)).map(str::trim);
    if let Some(build) = line("build it:") {
        let build = build.replace("-O2", "-O1 -Wall -Wextra -Werror");
        let output = Command::new("sh").current_dir(scene.path("")).args(["-c", &build]).output().unwrap();
        assert!(output.status.success(), "{build}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let kernel = line("check it:").unwrap().rsplit(' ').next().unwrap().to_owned();
    let mut check = plimsoll();
    check.current_dir(scene.path("")).arg("check").arg(capture).arg("--record").arg(scene.record());
    check.args(["--kernel", &kernel, "--launches", "2", "--warmup", "1"]);
    if let Some(python) = python {
        check.arg("--python").arg(python);
    }
    scene.run(&mut check)
}

#[test]
fn an_embedding_in_c_passes_as_it_is_written() {
    let scene = Scene::new(2);
    let capture = scene.capture();
    for (name, capture_given) in [("embedding", None), ("rows", Some(capture.as_path()))] {
        let (code, said, err) = new(&scene, name, "c", capture_given);
        assert_eq!(code, 0, "{err}");
        let (code, record) = built_and_checked(&scene, &said, &capture, None);
        assert_eq!(code, 0, "{said}\n{:#?}", record.verdicts);
        assert_eq!(record.semantics.capture().unwrap().kernel.name, format!("lib:{name}.so:{name}"));
    }
    // Existing files stay.
    let (code, _, err) = new(&scene, "rows", "python", Some(&capture));
    assert_eq!(code, 2);
    assert!(err.contains("rows exists already"), "{err}");
    assert!(!scene.path("rows/rows.py").exists());
}

#[test]
fn an_embedding_in_python_passes_as_it_is_written() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(2);
    let (code, said, err) = new(&scene, "embedding", "python", None);
    assert_eq!(code, 0, "{err}");
    let (code, record) = built_and_checked(&scene, &said, &scene.capture(), Some(&python));
    assert_eq!(code, 0, "{said}\n{:#?}", record.verdicts);
}

#[test]
fn an_embedding_in_cuda_is_the_example_under_its_name() {
    let scene = Scene::new(1);
    let (code, said, _) = new(&scene, "rows", "cuda", Some(&scene.capture()));
    assert_eq!(code, 0);
    assert!(said.contains("nvcc -O2 -shared -Xcompiler -fPIC -o rows.so rows.cu"), "{said}");
    let source = fs::read_to_string(scene.path("rows/rows.cu")).unwrap();
    assert!(source.contains("extern \"C\" KERNEL(rows)") && source.contains("lib:./rows.so"), "{source}");
    if super::library::has_nvcc() {
        let build = said.lines().find_map(|line| line.strip_prefix("build it:")).unwrap();
        assert!(Command::new("sh").current_dir(scene.path("")).args(["-c", build]).status().unwrap().success());
    }
}

/// A capture of calls of another operator, with an argument of every kind, written by torch.
fn other_operator(scene: &Scene, python: &Path) -> PathBuf {
    let folder = scene.path("other");
    let script = "import sys, os, torch\n\
        folder = sys.argv[1]\n\
        os.mkdir(folder)\n\
        x = torch.arange(12, dtype=torch.float32).view(3, 4).t()\n\
        entry = {'function_name': 'torch.nn.functional.mixed', 'args': (x, None, True, 3, 2.5, 'mean */ x'),\n\
                 'kwargs': {'class': torch.float16, 'size': [1, 2], 'result': x.contiguous()},\n\
                 'output': (x.contiguous(), x.sum())}\n\
        torch.save(entry, os.path.join(folder, 'entry_000000.pt'))\n";
    let output = Command::new(python).args(["-c", script]).arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

#[test]
fn of_another_operator_it_takes_the_arguments_and_says_that_it_is_not_written() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let capture = other_operator(&scene, &python);
    for (language, name, file) in [("c", "mixed", "mixed.c"), ("python", "mixed_py", "mixed_py.py")] {
        let (code, said, err) = new(&scene, name, language, Some(&capture));
        assert_eq!(code, 0, "{err}");
        assert!(said.contains("fails every entry until"), "{said}");
        let source = fs::read_to_string(scene.path(name).join(file)).unwrap();
        insta::with_settings!({ snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots"),
            prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("kernel_new_{language}"), source);
        });
        let (code, record) = built_and_checked(&scene, &said, &capture, Some(&python));
        assert_eq!(code, 1);
        let error = record.results.entries[0].validation.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!(error.kind, FailureKind::Exception);
        assert!(
            error.message.contains(&format!("NotImplementedError: {name} is not written yet")),
            "{}",
            error.message
        );
    }
}

#[test]
fn an_unfinished_kernel_in_cuda_compiles() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let capture = other_operator(&scene, &python);
    let (code, _, err) = new(&scene, "mixed", "cuda", Some(&capture));
    assert_eq!(code, 0, "{err}");
    // The template contains no CUDA code yet, so a C++ compiler can check it.
    let mut compilers = vec![("c++", vec!["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])];
    if super::library::has_nvcc() {
        compilers.push(("nvcc", vec!["-cubin", "-o", "/dev/null"]));
    }
    for (compiler, flags) in compilers {
        let output = Command::new(compiler).args(flags).arg(scene.path("mixed/mixed.cu")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_cannot_be_begun_says_why() {
    let scene = Scene::new(1);
    let refused = |name: &str, language: &str, capture: Option<&Path>, words: &str| {
        let (code, out, err) = new(&scene, name, language, capture);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(words), "{err}");
    };
    refused("gelu", "c", None, "name a capture of its calls with --capture");
    refused("a-b", "c", None, "`a-b` cannot name a kernel");
    refused("embedding", "rust", None, "rust");
    refused("embedding", "c", Some(Path::new("/nowhere")), "/nowhere");
    assert!(!scene.path("embedding").exists());
}

#[test]
fn without_its_worker_an_operator_of_pytorch_is_refused_with_what_to_do() {
    let scene = Scene::new(1);
    let mut command = scene.command("check");
    command.args(["--kernel", "torch:embedding"]).env("PLIMSOLL_TORCH_WORKER", "/nowhere/worker");
    let (code, out, err) = run(&mut command);
    assert_eq!((code, out.as_str()), (3, ""));
    insta::with_settings!({ snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots"),
        prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("torch_not_installed", err);
    });
}
