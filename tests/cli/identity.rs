//! The parts of a kernel in its record: every file, and no product of a build or a cache.

use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll::kernel::{KernelIdentity, file_digest};
use plimsoll::record::Record;

use crate::support::{Scene, plimsoll, run, torch_python};

/// A record of `kernel`, which must pass, and its kernel.
fn checked(scene: &Scene, kernel: &str, flags: &[&str]) -> (Record, KernelIdentity) {
    ran(scene, "validate", kernel, flags)
}

/// A record of a part of a check of `kernel`, which must pass, and its kernel.
fn ran(scene: &Scene, part: &str, kernel: &str, flags: &[&str]) -> (Record, KernelIdentity) {
    let mut command = scene.command(part);
    command.args(["--kernel", kernel]).args(flags);
    if let Some(python) = std::env::var_os("PLIMSOLL_TORCH_PYTHON") {
        command.arg("--python").arg(python);
    }
    // Builds only for these tests.
    command.env("TORCH_EXTENSIONS_DIR", scene.path("builds"));
    let (code, record) = scene.run(&mut command);
    assert_eq!(code, 0, "{:#?}", record.results);
    let kernel = record.semantics.capture().unwrap().kernel.clone();
    (record, kernel)
}

fn names(kernel: &KernelIdentity) -> Vec<&str> {
    kernel.sources.keys().map(String::as_str).collect()
}

/// A kernel of two modules, a file that it reads and a library that needs another; it keeps a cache beside itself, and reads a file of Python's.
const KERNEL: &str = r"
import ctypes, json, os, torch
import rows
here = os.path.dirname(__file__)
scale = json.load(open(os.path.join(here, 'scale.json')))
open(os.path.join(here, 'log.txt'), 'a').write('loaded')
open(json.__file__).read()
ctypes.CDLL(os.path.join(here, 'libouter.so'))
if not os.path.exists(os.path.join(here, '__pycache__', 'tuned.json')):
    os.makedirs(os.path.join(here, '__pycache__'), exist_ok=True)
    json.dump(1, open(os.path.join(here, '__pycache__', 'tuned.json'), 'w'))
def launch(input, weight, *rest):
    import late
    return rows.gather(input, weight) * scale + late.zero
";

#[test]
fn a_python_kernel_is_its_modules_and_the_files_that_it_reads() {
    if torch_python().is_none() {
        return;
    }
    let scene = Scene::new(1);
    let folder = scene.path("k");
    fs::create_dir(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let own = file("kernel.py", KERNEL);
    file("rows.py", "def gather(input, weight):\n    return weight[input]\n");
    file("late.py", "zero = 0\n");
    file("scale.json", "1");
    let build = |answer: &str| {
        file("inner.c", &format!("int inner(void) {{ return {answer}; }}\n"));
        compile(&folder, &["-o", "libinner.so", "inner.c"]);
        compile(&folder, &["-o", "libouter.so", "outer.c", "-L.", "-linner", "-Wl,-rpath,$ORIGIN"]);
    };
    file("outer.c", "int inner(void);\nint outer(void) { return inner(); }\n");
    build("1");
    let kernel = format!("py:{}", own.display());
    let (record, identity) = checked(&scene, &kernel, &[]);
    assert_eq!(names(&identity), ["late.py", "libinner.so", "libouter.so", "rows.py", "scale.json"]);
    // The second run finds the first run's compiled file.
    assert_eq!(checked(&scene, &kernel, &[]).0.semantics_digest, record.semantics_digest);
    // An edit of any part changes the digest, and the change is named.
    let before = scene.path("before.json");
    fs::rename(scene.record(), &before).unwrap();
    file("scale.json", "1.0");
    build("2 * 21");
    file("late.py", "zero = 0.0\n");
    checked(&scene, &kernel, &[]);
    let (code, out, _) = run(plimsoll().arg("compare").arg(&before).arg(scene.record()));
    assert_eq!(code, 1);
    assert!(out.contains("/kernel/sources/scale.json") && out.contains("/kernel/sources/late.py"), "{out}");
    assert!(out.contains("/kernel/sources/libinner.so") && !out.contains("/kernel/sources/libouter.so"), "{out}");
}

/// A kernel that builds its library by itself, in the folder that FOLDER gives.
const BUILDS: &str = r"
import contextlib, ctypes, os, subprocess, tempfile, torch
here = os.path.dirname(os.path.abspath(__file__))
with FOLDER as out:
    built = os.path.join(out, 'rows.so')
    if not os.path.exists(built):
        os.makedirs(out, exist_ok=True)
        subprocess.run(['cc', '-shared', '-fPIC', '-I', 'include', '-o', built, 'rows.c'], check=True, cwd=here)
    rows = ctypes.CDLL(built)
def launch(input, weight, *rest):
    return weight[input] * rows.scale()
";

#[test]
fn a_library_that_a_kernel_builds_for_itself_belongs_to_it_wherever_it_lies() {
    if torch_python().is_none() {
        return;
    }
    let cache = "contextlib.nullcontext(os.path.join(os.environ['XDG_CACHE_HOME'], 'rows'))";
    for (place, expected) in
        [(cache, vec!["rows.so"]), ("tempfile.TemporaryDirectory()", vec!["include/one.h", "include/two.h", "rows.c"])]
    {
        let scene = Scene::new(1);
        let folder = scene.path("k");
        fs::create_dir_all(folder.join("include")).unwrap();
        fs::write(folder.join("kernel.py"), BUILDS.replace("FOLDER", place)).unwrap();
        fs::write(folder.join("include/one.h"), "#include \"two.h\"\n").unwrap();
        fs::write(folder.join("include/two.h"), "#define SCALE 1\n").unwrap();
        fs::write(folder.join("rows.c"), "#include <stddef.h>\n# include <one.h>\nint scale(void) { return SCALE; }\n")
            .unwrap();
        let kernel = format!("py:{}", folder.join("kernel.py").display());
        let checked = || {
            let mut command = scene.command("validate");
            command.args(["--kernel", &kernel]).arg("--python").arg(torch_python().unwrap());
            command.env("XDG_CACHE_HOME", scene.path("cache"));
            let (code, record) = scene.run(&mut command);
            assert_eq!(code, 0, "{:#?}", record.results);
            let identity = record.semantics.capture().unwrap().kernel.clone();
            assert_eq!(names(&identity), expected, "{place}");
            record.semantics_digest
        };
        let first = checked();
        // Whether it is built or found, it is the same.
        assert_eq!(checked(), first, "{place}");
        fs::write(folder.join("include/two.h"), "static int one(void) { return 1; }\n#define SCALE one()\n").unwrap();
        let _ = fs::remove_dir_all(scene.path("cache"));
        assert_ne!(checked(), first, "{place}");
    }
}

/// The embedding of the tests as KernelForge writes it, in two files.
const CUDA: &str = "#include <torch/extension.h>\n#include \"rows.h\"\n
torch::Tensor launch(torch::Tensor input, torch::Tensor weight, c10::optional<int64_t> padding, c10::optional<double> most,
                     double norm, bool scale, bool sparse) {
    return rows(input, weight);
}
";
const HEADER: &str = "inline torch::Tensor rows(torch::Tensor input, torch::Tensor weight) {
    return weight.index_select(0, input.flatten()).view({input.size(0), input.size(1), weight.size(1)});
}
";

#[test]
fn a_folder_of_kernelforge_is_built_launched_and_known_by_its_sources() {
    if torch_python().is_none() {
        return;
    }
    let scene = Scene::new(2);
    let folder = scene.path("torch_nn_functional_embedding");
    fs::create_dir(&folder).unwrap();
    let (kernel, header) = (folder.join("kernel.cu"), folder.join("rows.h"));
    fs::write(&kernel, CUDA).unwrap();
    fs::write(&header, HEADER).unwrap();
    let name = format!("kernelforge:{}", folder.display());
    let (record, identity) = checked(&scene, &name, &[]);
    assert_eq!(
        (identity.name.as_str(), names(&identity)),
        ("kernelforge:torch_nn_functional_embedding", vec!["rows.h"])
    );
    assert_eq!(identity.sources["rows.h"], file_digest(&header).unwrap());
    // A language model wrote it, so its timing is audited unless the user declines.
    let is_audited = |flags: &[&str]| {
        let (record, _) = ran(&scene, "profile", &name, flags);
        record.semantics.capture().unwrap().audit.is_some()
    };
    assert!(is_audited(&["--launches", "5"]) && !is_audited(&["--launches", "5", "--audit=off"]));
    // Rebuilt elsewhere: the kernel is the same.
    let elsewhere = scene.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&folder, elsewhere.join("torch_nn_functional_embedding")).unwrap();
    let name = format!("kernelforge:{}", elsewhere.join("torch_nn_functional_embedding").display());
    assert_eq!(checked(&scene, &name, &[]).0.semantics_digest, record.semantics_digest);
    assert_eq!(fs::read_dir(scene.path("builds")).unwrap().count(), 2);
}

fn compile(folder: &Path, arguments: &[&str]) {
    let output = Command::new("cc").current_dir(folder).args(["-shared", "-fPIC"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_library_is_what_it_links_beside_it_or_the_sources_that_are_named() {
    let scene = Scene::new(1);
    let folder = scene.path("k");
    fs::create_dir(&folder).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let include = format!("-I{}", example.display());
    let (helper, kernel) = (folder.join("helper.c"), folder.join("kernel.c"));
    fs::write(&helper, "int answer(void) { return 42; }\n").unwrap();
    let source = fs::read_to_string(example.join("embedding.c")).unwrap();
    fs::write(&kernel, format!("{source}\nint answer(void);\nint (*plimsoll_answer)(void) = answer;\n")).unwrap();
    let build = || {
        compile(&folder, &["-o", "libhelper.so", "helper.c"]);
        compile(&folder, &[&include, "-o", "kernel.so", "kernel.c", "-L.", "-lhelper", "-Wl,-rpath,$ORIGIN"]);
    };
    build();
    let name = format!("lib:{}", folder.join("kernel.so").display());
    let (before, identity) = checked(&scene, &name, &[]);
    assert_eq!(names(&identity), ["libhelper.so"]);
    build();
    assert_eq!(checked(&scene, &name, &[]).0.semantics_digest, before.semantics_digest, "a build of the same sources");

    let named = format!("{},{}", kernel.display(), helper.display());
    let (declared, identity) = checked(&scene, &name, &["--kernel-source", &named]);
    assert_eq!((names(&identity), &identity.digest), (vec!["helper.c", "kernel.c"], &None));
    fs::write(&helper, "int answer(void) { return 41 + 2; }\n").unwrap();
    build();
    assert_ne!(checked(&scene, &name, &[]).0.semantics_digest, before.semantics_digest);
    let edited = checked(&scene, &name, &["--kernel-source", &named]).0;
    assert_ne!(edited.semantics_digest, declared.semantics_digest);

    let (code, _, err) = run(scene.command("check").args(["--kernel", &name, "--kernel-source", "/nowhere/k.c"]));
    assert!(code == 2 && err.contains("/nowhere/k.c"), "{err}");
}
