#!/usr/bin/env bash
# Runs all checks that need a GPU and writes a report to a folder: harness/gpu-check.sh [FOLDER, by default gpu-report].
# summary.txt has a line for each check: PASS or FAIL, the figure and its limit.
#
#     harness/gpu-check.sh --build     only builds: for a machine whose GPU is available for minutes
#
# The script takes some minutes and no network. It needs the driver and a python3; nvcc and a C++ compiler for the CUDA
# kernels; a Python with torch for the Python kernels: PLIMSOLL_TORCH_PYTHON, by default that of harness/test.sh, or python3.
# nvcc may come from that Python's packages (nvidia-cuda-nvcc). Missing tools are reported before anything runs, and their
# steps are left out. If a step fails, the next one still runs; a step that takes longer than PLIMSOLL_GPU_CHECK_LIMIT seconds
# [default: 240] is ended and fails.
#
# Building the programs needs cargo and a copy of every crate, which `cargo fetch --locked` makes on a machine with a network.
# On a machine without cargo, name the programs:
#     PLIMSOLL_BIN           the program: cargo build --release --package plimsoll-harness, target/release/plimsoll
#     PLIMSOLL_TORCH_WORKER  the worker of PyTorch operators, which finds libtorch where it was built:
#                            LIBTORCH_USE_PYTORCH=1 cargo build --release --package plimsoll-torch --features tch
#     PLIMSOLL_GPU_BENCH     the benchmark of uploads: cargo bench --features full --bench gpu --no-run, which prints its path
#     PLIMSOLL_GPU_KERNELS   a folder with embedding.so and device.so, built elsewhere from harness/examples/embedding.cu and
#                            tests/kernels/library/device.cu as below, if there is no nvcc
# and PLIMSOLL_GPU_CHECK_WORK is a folder with 12 GiB of room for captures [default: plimsoll-gpu-check in TMPDIR].
#
# Exit codes: 0 everything passes; 1 something fails; 2 it could not be set up; 3 there is no GPU, and nothing was run, or
# something was left out.

# Functions are called by `expect`, which shellcheck does not see.
# shellcheck disable=SC2329
set -uo pipefail
here="$PWD"
absolute() { case "$1" in /*) echo "$1" ;; *) echo "$here/$1" ;; esac; }
cd "$(dirname "$0")/.." || exit 2
target="$(absolute "${CARGO_TARGET_DIR:-$PWD/target}")"
plimsoll="$(absolute "${PLIMSOLL_BIN:-$target/release/plimsoll}")"
python="${PLIMSOLL_TORCH_PYTHON:-}"
[ -n "$python" ] || { [ -x "$target/torch-venv/bin/python" ] && python="$target/torch-venv/bin/python"; }
python="${python:-python3}"
build_only=0
[ "${1:-}" = --build ] && build_only=1 && shift
report="$(absolute "${1:-gpu-report}")"
limited=()
command -v timeout >/dev/null && limited=(timeout --kill-after=10 "${PLIMSOLL_GPU_CHECK_LIMIT:-240}")
work="$(absolute "${PLIMSOLL_GPU_CHECK_WORK:-${TMPDIR:-/tmp}/plimsoll-gpu-check}")"
# Of the capture of KernelForge #76, which has 51 GiB. Another than an eighth is for trying this script.
scale="${PLIMSOLL_GPU_CHECK_SCALE:-1/8}"

case "$python" in */*) python="$(absolute "$python")" ;; esac
command -v "$python" >/dev/null || { echo "error: $python is not there: name a Python by PLIMSOLL_TORCH_PYTHON" >&2; exit 2; }
python="$(command -v "$python")"
# A compiler of CUDA among the packages of Python, and the libraries that it links.
cuda="$("$python" -c 'import nvidia.cu13 as cu; print(list(cu.__path__)[0])' 2>/dev/null)"
if ! command -v nvcc >/dev/null; then
    for folder in "$cuda/bin" /usr/local/cuda/bin; do
        [ -x "$folder/nvcc" ] && PATH="$folder:$PATH" && break
    done
fi
[ -n "$cuda" ] && export LIBRARY_PATH="$cuda/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
has_torch() { "$python" -c 'import torch' 2>/dev/null; }

# built WHAT COMMAND..: says what is to be done where it cannot be built.
built() {
    local what="$1"
    shift
    "$@" && return
    echo "error: $what cannot be built; cargo needs a copy of every crate (cargo fetch --locked, where there is a network)," >&2
    echo "  or name the programs that were built elsewhere: see the head of this script" >&2
    return 1
}
build_torch_worker() {
    env "PATH=$(dirname "$python"):$PATH" LIBTORCH_USE_PYTORCH=1 \
        cargo build --release --offline --locked --package plimsoll-torch --features tch
}
if ! [ -x "$plimsoll" ]; then
    command -v cargo >/dev/null || { echo "error: there is no $plimsoll, and no cargo to build it: set PLIMSOLL_BIN" >&2; exit 2; }
    built plimsoll cargo build --release --offline --locked --package plimsoll-harness || exit 2
fi
if [ $build_only -eq 1 ]; then
    code=0
    built "the benchmark of uploads" cargo bench --offline --locked --features full --bench gpu --no-run || code=2
    if has_torch; then built plimsoll-torch-worker build_torch_worker || code=2; fi
    exit $code
fi
devices="$("$plimsoll" devices --json)"
code=$?
[ $code -eq 0 ] || exit $code

mkdir -p "$report" "$work" || exit 2
echo "$devices" >"$report/devices.json"
command -v nvidia-smi >/dev/null && nvidia-smi -q >"$report/nvidia-smi.txt" 2>&1
: >"$report/summary.txt"
failed=0 missing=0

say() { echo "$*" | tee -a "$report/summary.txt"; }
pass() { say "PASS      $*"; }
fail() { say "FAIL      $*"; failed=1; }
left_out() { say "LEFT OUT  $*"; missing=1; }

# expect NAME CODE COMMAND..: runs it, keeps what it prints in NAME.txt and NAME.err, and holds its exit code.
expect() {
    local name="$1" wanted="$2"
    shift 2
    local began=$SECONDS
    "$@" >"$report/$name.txt" 2>"$report/$name.err"
    local found=$?
    if [ $found -eq "$wanted" ]; then
        pass "$name: exit code $found, $((SECONDS - began)) s"
    elif [ $found -eq 124 ] || [ $found -eq 137 ]; then
        fail "$name: ended after $((SECONDS - began)) s, for it had not"
        return 1
    else
        fail "$name: exit code $found, and $wanted was asked for; see $name.txt and $name.err"
        tail -n 3 "$report/$name.err"
        return 1
    fi
}

# figure FILE EXPRESSION: an expression of Python over `d`, the JSON of a file; nothing where it has no value.
figure() { "$python" -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$report/$1" "$2" 2>/dev/null; }

# holds NAME FILE CONDITION WORDS: a condition over the JSON of a file, and words with figures of it in braces.
holds() {
    local words
    if words="$("$python" -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval("f" + repr(sys.argv[3])))
sys.exit(not eval(sys.argv[2]))' "$report/$2" "$3" "$4" 2>>"$report/errors.txt")"; then pass "$1: $words"; else fail "$1: ${words:-no figure, see $2 and errors.txt}"; fi
}

# within NAME OURS PEERS PERCENT: holds two times to each other.
within() {
    local words
    if words="$("$python" -c 'import sys
ours, peers, limit = map(float, sys.argv[1:])
off = 100 * abs(ours / peers - 1)
print(f"{ours / 1000:.2f} us beside {peers / 1000:.2f} us, {off:.2f} % apart, at most {limit:g} % asked for")
sys.exit(off > limit)' "$2" "$3" "$4" 2>>"$report/errors.txt")"; then pass "$1: $words"; else fail "$1: ${words:-no figure}"; fi
}

generated() {
    local name="$1"
    shift
    [ -d "$work/$name" ] && return
    rm -rf "$work/$name.part"
    # One that was ended in between is no capture.
    if "${limited[@]}" "$plimsoll" generate "$work/$name.part" "$@" >/dev/null 2>"$report/generate-$name.err"; then
        mv "$work/$name.part" "$work/$name"
    else
        fail "generate $name: $(tail -n 1 "$report/generate-$name.err")"
    fi
}
# absent NAME WHAT: says before anything is run what will be left out.
absent() { say "ABSENT    $1: $2"; }
if [ -z "${PLIMSOLL_GPU_KERNELS:-}" ]; then
    command -v nvcc >/dev/null || absent nvcc "kernels in CUDA; bring them by PLIMSOLL_GPU_KERNELS, or install nvidia-cuda-nvcc"
fi
[ -n "${PLIMSOLL_GPU_BENCH:-}" ] || command -v cargo >/dev/null || absent cargo "uploads; bring the benchmark by PLIMSOLL_GPU_BENCH"
"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
    absent torch "kernels in Python, and the loops that times are held to: $python has no torch that sees the GPU"
room=$(($(df --output=avail -k "$work" 2>/dev/null | tail -n 1 || echo 0) / 1048576))
[ "$room" -ge 12 ] || say "note: $work has $room GiB of room, and 12 may be needed: see PLIMSOLL_GPU_CHECK_WORK"

# A launch on `small` takes some microseconds, and one on `large` long enough that the time of launching it is hidden.
generated tiny --preset embedding --vocab 16 --dim 16 --seq 4 --entries 1
generated small --preset embedding --vocab 32768 --dim 1024 --seq 4096 --entries 3
generated large --preset embedding --vocab 32768 --dim 1024 --seq 65536 --entries 1
generated "part-${scale/\//-}" --preset gemma4-e2b-gb10 --scale "$scale"

name="$(figure devices.json 'd["devices"][0]["name"]')"
say "device    $name, $("$plimsoll" --version), $(date -u +%Y-%m-%d)"

# Uploads.
if [ -n "${PLIMSOLL_GPU_BENCH:-}" ]; then
    bench=("$PLIMSOLL_GPU_BENCH")
elif command -v cargo >/dev/null; then
    bench=(cargo bench --offline --locked --features full --bench gpu --)
else
    bench=()
fi
if [ ${#bench[@]} -gt 0 ]; then
    [ -s "$work/upload.bin" ] || head -c 2147483648 /dev/urandom >"$work/upload.bin" || fail "$work/upload.bin cannot be written"
    expect upload 0 "${bench[@]}" "$work/upload.bin" --json "$report/upload.json"
    holds "upload rate" upload.json 'd["upload_gb_s"] >= 0.9 * d["pinned_gb_s"]' \
        '{d["upload_gb_s"]:.2f} GB/s from the page cache, {100 * d["upload_gb_s"] / d["pinned_gb_s"]:.1f} % of pinned copies ({d["pinned_gb_s"]:.2f} GB/s), at least 90 % asked for'
    holds "upload memory" upload.json 'd["peak_rss"] <= 256 << 20' \
        '{d["peak_rss"] / 2**20:.0f} MiB largest resident set, {d["context_rss"] / 2**20:.0f} MiB with the context alone, at most 256 MiB asked for'
else
    left_out "uploads: there is no cargo, and PLIMSOLL_GPU_BENCH is not set"
fi

# Kernels in CUDA.
kernels="${PLIMSOLL_GPU_KERNELS:-$work}"
if [ -n "${PLIMSOLL_GPU_KERNELS:-}" ] || command -v nvcc >/dev/null; then
    if [ -z "${PLIMSOLL_GPU_KERNELS:-}" ]; then
        build() { nvcc -O2 -shared -Xcompiler -fPIC -I harness/examples -o "$2" "$1"; }
        expect build-embedding 0 build harness/examples/embedding.cu "$kernels/embedding.so"
        expect build-adversaries 0 build tests/kernels/library/device.cu "$kernels/device.so"
    fi
    # on_device COMMAND CAPTURE LIBRARY RECORD [FLAGS..]
    on_device() { "${limited[@]}" "$plimsoll" "$1" "$work/$2" --kernel "$3" --device cuda --record "$report/$4.json" "${@:5}"; }
    library="lib:$kernels/embedding.so:embedding"
    expect small 0 on_device check small "$library" small
    holds "state of the GPU" small.json 'd["results"]["entries"][0]["profile"]["state"]["sm_clock_mhz"]["most"] > 0' \
        'processors at {d["results"]["entries"][0]["profile"]["state"]["sm_clock_mhz"]} MHz, {d["results"]["entries"][0]["profile"]["state"].get("temperature_c")} degrees, {d["results"]["entries"][0]["profile"]["state"].get("power_mw")} mW, held back by {d["results"]["entries"][0]["profile"]["state"].get("throttled", [])}'
    expect graph 0 on_device check small "$library" graph --graph
    for protocol in kernelforge samples cold until; do
        expect "$protocol" 0 on_device profile large "$library" "$protocol" --protocol "$protocol"
    done
    gpu_peak='max([p["readings"]["gpu_peak"]["bytes"] for p in d["phases"] if "gpu_peak" in p["readings"]], default=0)'
    expect context 0 on_device check tiny "$library" context --gpu-peak 64GiB
    context="$(figure context.json "round($gpu_peak / 2**20)")"
    expect "part-under-1GiB" 0 on_device check "part-${scale/\//-}" "$library" part --batch-bytes 384MiB --gpu-peak 1GiB
    holds "a part of the capture ($scale)" part.json "d[\"exit_code\"] == 0 and 0 < $gpu_peak <= 1 << 30" \
        "{$gpu_peak / 2**20:.0f} MiB on the GPU at most, the context included (a tiny capture: ${context:-unknown} MiB), limit 1024 MiB; exit code {d[\"exit_code\"]}"
    # adversary NAME KIND [COMMAND]: a kernel that is to fail so.
    adversary() {
        expect "adversary-$1" 1 on_device "${3:-check}" small "lib:$kernels/device.so:$1" "adversary-$1"
        holds "adversary-$1" "adversary-$1.json" "\"$2\" in json.dumps(d[\"results\"])" "ends as $2"
    }
    adversary side_stream late-write
    adversary beside late-write profile
    adversary faults device-fault
    adversary mutates mutated-input
    adversary keeps stale-output profile
    adversary nothing mismatch
    expect audit 0 on_device check small "lib:$kernels/embedding.so:embedding" audit --audit
    holds "an audit" audit.json 'd["results"]["entries"][0]["profile"]["audit"]["follows"]' \
        '{d["results"]["entries"][0]["profile"]["audit"]}'
    expect leaks 0 on_device validate small "lib:$kernels/device.so:leaks" leaks
    holds leaks leaks.json 'd["results"]["entries"][-1]["validation"]["device"]["growth"] >= 10 << 20' \
        '{d["results"]["entries"][-1]["validation"]["device"]["growth"] / 2**20:.1f} MiB a launch are seen, at least 10 MiB asked for'
    expect workspace 0 on_device check small "lib:$kernels/device.so:workspace" workspace
    holds workspace workspace.json 'd["policy"]["batching"]["batches"][-1]["workspace"] >= 32 << 20' \
        '{d["policy"]["batching"]["batches"][-1]["workspace"] / 2**20:.1f} MiB are counted to a batch, at least 32 MiB asked for'
else
    left_out "kernels in CUDA: there is no nvcc, and PLIMSOLL_GPU_KERNELS is not set"
fi

# Operators of PyTorch. Where the libtorch of the worker cannot use the GPU, it says so and ends with 3.
torch_worker="$(absolute "${PLIMSOLL_TORCH_WORKER:-$target/release/plimsoll-torch-worker}")"
if ! [ -x "$torch_worker" ] && command -v cargo >/dev/null && has_torch; then
    expect build-torch-worker 0 build_torch_worker
fi
export PLIMSOLL_TORCH_WORKER="$torch_worker"
# operator COMMAND CAPTURE NAME RECORD [FLAGS..]
operator() { "${limited[@]}" "$plimsoll" "$1" "$work/$2" --kernel "torch:$3" --device cuda --record "$report/$4.json" "${@:5}"; }
operator validate tiny embedding torch-tiny >"$report/torch-tiny.txt" 2>"$report/torch-tiny.err"
if [ $? -eq 3 ]; then
    left_out "operators of PyTorch: $(tail -n 1 "$report/torch-tiny.err")"
else
    expect torch-check 0 operator check small embedding torch-check
    device='d["results"]["entries"][0]["validation"]["device"]'
    holds "libtorch's allocator" torch-check.json "${device}[\"allocator\"][\"allocated_peak\"] >= ${device}[\"outputs\"] > 0" \
        "{${device}[\"allocator\"]}, at least the {${device}[\"outputs\"]} bytes of the output asked for"
    for protocol in kernelforge samples cold until; do
        expect "torch-$protocol" 0 operator profile large embedding "torch-$protocol" --protocol "$protocol"
    done
    expect torch-part 0 operator check "part-${scale/\//-}" embedding torch-part --batch-bytes 384MiB --gpu-peak 64GiB
    holds "torch:embedding on a part of the capture ($scale)" torch-part.json 'd["exit_code"] == 0' \
        'exit code {d["exit_code"]}, {max([p["readings"]["gpu_peak"]["bytes"] for p in d["phases"] if "gpu_peak" in p["readings"]], default=0) / 2**20:.0f} MiB on the GPU at most, the context and what libtorch loads there included'
    expect torch-reference 0 operator validate small embedding torch-reference --reference builtin:embedding
    # Computed by the CPU, and again by the GPU, which adds in another order.
    for name in linear layer_norm softmax gelu scaled_dot_product_attention adaptive_max_pool2d cross_entropy; do
        generated "op-$name" --op "$name" --entries 1
        expect "torch-$name" 0 operator check "op-$name" "$name" "torch-$name" --rtol 1e-4 --atol 1e-4
    done
    if [ -f "$kernels/embedding.so" ]; then
        expect torch-versus 0 operator check small embedding torch-versus --vs "lib:$kernels/embedding.so:embedding"
    fi
fi

# Kernels in Python, and the loops that the times are held to.
if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    # in_python COMMAND CAPTURE RECORD [FLAGS..]
    in_python() {
        "${limited[@]}" "$plimsoll" "$1" "$work/$2" --kernel "py:tests/kernels/${kernel:-torch_embedding}.py" --python "$python" --device cuda --record "$report/$3.json" "${@:4}"
    }
    expect python-check 0 in_python check large python-check
    holds "PyTorch's allocator" python-check.json 'd["results"]["entries"][0]["profile"]["device"]["allocator"]["allocated_peak"] > 0' \
        '{d["results"]["entries"][0]["profile"]["device"]["allocator"]}'
    kernel=reads_past_the_table expect python-fault 1 in_python validate small python-fault
    holds "a fault in Python" python-fault.json '[(e["validation"].get("error") or {}).get("kind") for e in d["results"]["entries"]] == [None, "device-fault", None]' \
        'it fails its own entry, and the next is launched in another worker'
    expect python-audit 0 in_python check small python-audit --audit
    holds "an audit in Python" python-audit.json 'd["results"]["entries"][0]["profile"]["audit"]["follows"]' \
        '{d["results"]["entries"][0]["profile"]["audit"]}'
    kernel=keeps expect python-keeps-audit 1 in_python check large python-keeps-audit --audit
    holds "a result kept in Python, audited" python-keeps-audit.json '(d["results"]["entries"][0]["profile"].get("error") or {}).get("kind") == "stale-output"' \
        'its timed outputs do not follow from the values that were put in'
    kernel=keeps expect python-keeps 1 in_python check large python-keeps
    holds "a result kept in Python" python-keeps.json '(d["results"]["entries"][0]["profile"].get("error") or {}).get("kind") == "stale-output"' \
        'it is right where it is validated, and stale once other values lie at the addresses that were timed'
    # Kernels that cheat on a GPU, and honest ones, each audited and compared with how it may end.
    suite=tests/kernels/cheats/device.py
    for which in honest cheats; do
        rm -rf "${work:?}/$which"
        expect "$which-list" 0 "$python" "$suite" "$work/$which" "$which"
        kernel=cheats/device in_python check "$which" "audited-$which" --audit --warmup 1 --launches 40 \
            --reference "py:$suite:reference" >"$report/audited-$which.txt" 2>"$report/audited-$which.err"
        if words="$("$python" "$suite" ends "$report/audited-$which.json" "$report/$which-list.txt" 2>>"$report/errors.txt")"; then
            pass "$which kernels, audited: $words"
        else
            fail "$which kernels, audited: ${words:-no record, see audited-$which.err and errors.txt}"
        fi
    done
    # Kernels as KernelForge writes them, built by nvcc.
    if command -v nvcc >/dev/null && command -v c++ >/dev/null && "$python" -c 'import ninja' 2>/dev/null; then
        generated op-gelu --op gelu --entries 1
        # forged NAME CODE [FLAGS..]
        forged() {
            expect "kernelforge-$3" "$2" "${limited[@]}" "$plimsoll" check "$work/op-gelu" --python "$python" --device cuda \
                --kernel "kernelforge:tests/kernels/kernelforge/$1" --compare kernelforge --record "$report/kernelforge-$3.json" "${@:4}"
        }
        forged gelu 0 gelu --audit=off
        forged gelu 0 gelu-audited
        forged gelu_kept 1 kept --audit=off
        forged gelu_kept 1 kept-audited
    else
        left_out "kernels of KernelForge in CUDA: they need nvcc, c++ and ninja"
    fi
    headers="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
    if ! "$python" -c 'import triton' 2>/dev/null || ! command -v cc >/dev/null || ! [ -f "$headers/Python.h" ]; then
        left_out "a kernel in Triton: that needs triton, cc and $headers/Python.h"
    else
        kernel=triton_embedding expect triton 0 in_python check small triton
    fi
    # By turns, so that what the clocks do between them moves both; the medians are held to each other.
    for turn in 1 2 3; do
        expect "python-kernelforge-$turn" 0 in_python profile large "python-kernelforge-$turn"
        expect "python-cold-$turn" 0 in_python profile large "python-cold-$turn" --protocol cold
        expect "python-peer-$turn" 0 "${limited[@]}" "$python" benches/peers/gpu_loop.py "$work/large/entry_000000.pt"
    done
    # middle NAME EXTENSION EXPRESSION: the median of the three.
    middle() { for turn in 1 2 3; do figure "$1-$turn.$2" "$3"; done | sort -g | sed -n 2p; }
    profile='d["results"]["entries"][0]["profile"]["statistics"]'
    within "kernelforge beside a loop between two torch.cuda.Events" "$(middle python-kernelforge json "$profile"'["mean_ns"]')" \
        "$(middle python-peer txt 'd["kernelforge_ns"]')" 1
    peer="$(middle python-peer txt 'd["do_bench_ns"]')"
    if [ -n "$peer" ]; then
        within "cold beside triton's do_bench" "$(middle python-cold json "$profile"'["median_ns"]')" "$peer" 2
    else
        left_out "cold beside do_bench: there is no triton"
    fi
else
    left_out "kernels in Python and the loops beside them: $python has no torch that sees the GPU"
fi

if [ $failed -ne 0 ]; then
    say "something fails"
    exit 1
elif [ $missing -ne 0 ]; then
    say "what was run passes, and something was left out"
    exit 3
fi
say "everything passes"
