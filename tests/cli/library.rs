//! Kernels in shared libraries, built here by their authors' compilers.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::record::{Failure, FailureKind, Record};

use crate::support::{Scene, run, torch_python};

/// A file of the repository.
fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Runs a compiler, which must not complain.
fn compile(compiler: &mut Command) {
    let output =
        compiler.output().unwrap_or_else(|e| panic!("{compiler:?}: {e}: harness/test.sh names what is needed"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{compiler:?}: {said}");
}

/// Builds a shared library of the C or C++ file `path` of the repository.
pub fn built(scene: &Scene, path: &str) -> PathBuf {
    let library = scene.path("kernel.so");
    let mut compiler = if path.ends_with(".cpp") { Command::new("c++") } else { Command::new("cc") };
    if path.ends_with(".cpp") {
        compiler.arg("-std=c++17");
    }
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-I"]);
    compile(compiler.arg(source("harness/examples")).arg("-o").arg(&library).arg(source(path)));
    library
}

/// The name of a kernel in a library; the only one if `name` is empty.
pub fn kernel(library: &Path, name: &str) -> String {
    let separator = if name.is_empty() { "" } else { ":" };
    format!("lib:{}{separator}{name}", library.display())
}

fn command(scene: &Scene, part: &str, kernel: &str) -> Command {
    let mut command = scene.command(part);
    command.args(["--kernel", kernel, "--launches", "5", "--warmup", "1"]);
    command
}

fn passes(scene: &Scene, kernel: &str) -> Record {
    let (code, record) = scene.run(&mut command(scene, "check", kernel));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    assert_eq!(record.results.entries.iter().filter(|r| r.profile.as_ref().unwrap().error.is_none()).count(), 3);
    record
}

fn failure(scene: &Scene, command: &mut Command) -> Failure {
    let (code, record) = scene.run(command);
    assert_eq!(code, 1);
    *record.results.entries[0].validation.clone().unwrap().error.unwrap()
}

#[test]
fn the_examples_in_c_and_cpp_pass() {
    let scene = Scene::new(3);
    for example in ["harness/examples/embedding.c", "harness/examples/embedding.cpp"] {
        let library = built(&scene, example);
        let record = passes(&scene, &kernel(&library, ""));
        let identity = serde_json::to_value(&record.semantics).unwrap()["kernel"].clone();
        assert_eq!(identity["name"], "lib:kernel.so:embedding", "the only kernel is named in the record");
        assert_eq!(identity["digest"].as_str().unwrap().len(), 64);
    }
}

/// Whether CUDA can be compiled here: harness/test.sh sets up its compiler, which plain `cargo test` may lack.
pub fn has_nvcc() -> bool {
    let found = Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: there is no nvcc");
    }
    found
}

#[test]
fn the_example_in_cuda_passes_where_there_is_a_gpu_and_says_so_where_there_is_none() {
    if !has_nvcc() {
        return;
    }
    let scene = Scene::new(3);
    let library = scene.path("kernel.so");
    let build = |from: &str| {
        let mut nvcc = Command::new("nvcc");
        nvcc.args(["-O2", "-shared", "-Xcompiler", "-fPIC", "-I"]).arg(source("harness/examples"));
        compile(nvcc.arg("-o").arg(&library).arg(source(from)));
    };
    build("tests/kernels/library/device.cu");
    build("harness/examples/embedding.cu");
    if Path::new("/dev/nvidiactl").exists() {
        passes(&scene, &kernel(&library, ""));
        return;
    }
    let failure = failure(&scene, &mut command(&scene, "validate", &kernel(&library, "")));
    assert_eq!(failure.kind, FailureKind::Exception);
    assert!(failure.message.contains("RuntimeError: cudaMalloc("), "{}", failure.message);
    assert!(failure.message.contains("CUDA error: "), "{}", failure.message);
}

#[test]
fn a_library_says_what_is_wrong_with_its_name_before_anything_runs() {
    let scene = Scene::new(1);
    let several = built(&scene, "tests/kernels/library/several.c");
    let refused = |kernel: &str, words: &[&str]| {
        let (code, out, err) = run(&mut command(&scene, "check", kernel));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        for word in words {
            assert!(err.contains(word), "`{word}` is not in: {err}");
        }
        assert!(!scene.record().exists());
    };
    refused(
        &kernel(&several, ""),
        &["several kernels", "of_no_kind, out_of_memory, raises, silent, two_arguments", "lib:PATH:NAME"],
    );
    refused(&kernel(&several, "raise"), &["no kernel `raise`", "is `raises` meant?"]);
    refused(&kernel(&several, "plain"), &["a plain function of that name", "__tvm_ffi_"]);
    let plain = built(&scene, "tests/kernels/library/plain.c");
    refused(&kernel(&plain, "embedding"), &["no kernel of the TVM-FFI ABI", "`embedding` only as a plain function"]);
    refused("lib:/nowhere/kernel.so", &["/nowhere/kernel.so"]);
    refused(&format!("lib:{}", scene.entry(0).display()), &["entry_000000.pt", "not a 64-bit ELF file"]);
    let this = std::env::current_exe().unwrap();
    refused(&format!("lib:{}", this.display()), &["no kernel of the TVM-FFI ABI"]);
}

#[test]
fn what_a_kernel_raises_is_the_failure_of_the_entry() {
    let scene = Scene::new(2);
    let library = built(&scene, "tests/kernels/library/several.c");
    let fails = |name: &str| failure(&scene, &mut command(&scene, "validate", &kernel(&library, name)));
    let raised = fails("raises");
    assert_eq!(
        (raised.kind, raised.message.as_str()),
        (FailureKind::Exception, "ValueError: no kernel for 8 arguments")
    );
    assert_eq!(fails("of_no_kind").message, "no kernel of a kind");
    let silent = fails("silent");
    assert_eq!(silent.kind, FailureKind::Exception);
    assert!(silent.message.starts_with("silent returned 7 without a message"), "{}", silent.message);
    let arity = fails("two_arguments").message;
    assert!(arity.starts_with("TypeError: two_arguments takes 2 arguments, not 8"), "{arity}");
    assert!(arity.ends_with("scale_grad_by_freq, sparse, then 1 output)"), "{arity}");
    assert_eq!(fails("out_of_memory").kind, FailureKind::HostOom);
}

#[test]
fn a_library_that_needs_the_runtime_says_how_to_get_it() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/needs_runtime.c");
    // A Python without the package.
    let error = failure(&scene, command(&scene, "validate", &kernel(&library, "")).args(["--python", "/bin/false"]));
    assert_eq!(error.kind, FailureKind::Unsupported);
    for words in ["needs libtvm_ffi.so (for TVMFFIObjectDecRef)", "pip install apache-tvm-ffi", "PLIMSOLL_TVM_FFI"] {
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn a_kernel_that_tvm_ffi_built_passes_and_its_errors_are_told() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(3);
    // Built once, and again if its source changes.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tvm-ffi");
    let build = format!(
        "import tvm_ffi.cpp; tvm_ffi.cpp.build('kernel', cpp_files={:?}, extra_cflags=['-O0'], build_directory={:?})",
        source("tests/kernels/library/tvm_ffi_embedding.cc").display().to_string(),
        folder.display().to_string(),
    );
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new(&python).args(["-c", &build]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let library = folder.join("kernel.so");
    let (code, record) =
        scene.run(command(&scene, "check", &kernel(&library, "embedding")).arg("--python").arg(&python));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    let error = failure(&scene, command(&scene, "validate", &kernel(&library, "refuses")).arg("--python").arg(&python));
    assert_eq!((error.kind, error.message.as_str()), (FailureKind::Exception, "ValueError: not today"));
}

/// Builds `tests/kernels/library/embedded.c`.
fn embedded(scene: &Scene, name: &str, flags: &[&str]) -> PathBuf {
    let library = scene.path(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(source("harness/examples"));
    compile(compiler.args(flags).arg("-o").arg(&library).arg(source("tests/kernels/library/embedded.c")));
    library
}

#[test]
fn modules_embedded_in_a_library_are_unpacked_by_the_abis_own_loader() {
    let scene = Scene::new(2);
    let library = embedded(&scene, "exported.so", &[]);
    let with_context = kernel(&library, "with_context");
    // It needs no symbol of the runtime, so without this nobody would fill in its context.
    let error = failure(&scene, command(&scene, "validate", &with_context).args(["--python", "/bin/false"]));
    assert_eq!(error.kind, FailureKind::Unsupported);
    assert!(error.message.contains("for the modules embedded in it"), "{}", error.message);

    let Some(python) = torch_python() else { return };
    let (code, record) = scene.run(command(&scene, "check", &with_context).arg("--python").arg(&python));
    assert_eq!(code, 0, "{:#?}", record.verdicts);

    let unknown = embedded(&scene, "unknown.so", &["-DMODULE"]);
    let kernel = kernel(&unknown, "with_context");
    let error = failure(&scene, command(&scene, "validate", &kernel).arg("--python").arg(&python));
    assert_eq!(error.kind, FailureKind::Unsupported);
    for words in ["unknown.so", "ffi.Module.load_from_bytes.none"] {
        assert!(error.message.contains(words), "{}", error.message);
    }
}
