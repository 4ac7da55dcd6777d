#!/usr/bin/env bash
# Runs everything that needs a GPU, on one, and writes a report to a folder: harness/gpu-check.sh [FOLDER, by default gpu-report].
#
# It takes some minutes and no network. It needs the driver; nvcc for the kernels in CUDA; a Python with torch for those in
# Python (PLIMSOLL_TORCH_PYTHON, by default python3); both are left out, and said to be, where they are not there. The program
# is target/release/plimsoll, or PLIMSOLL_BIN; it is built where cargo is and none is named.
#
# Exit codes: 0 everything holds; 1 something does not, summary.txt says what; 3 there is no GPU: nothing was run.

# Functions are called by `expect`, which shellcheck does not see.
# shellcheck disable=SC2329
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
report="${1:-gpu-report}"
target="${CARGO_TARGET_DIR:-target}"
plimsoll="${PLIMSOLL_BIN:-$target/release/plimsoll}"
python="${PLIMSOLL_TORCH_PYTHON:-python3}"
# The eighth of a capture has 6.4 GiB: it goes where there is room.
work="${PLIMSOLL_GPU_CHECK_WORK:-${TMPDIR:-/tmp}/plimsoll-gpu-check}"

if ! [ -x "$plimsoll" ]; then
    cargo build --release --offline --locked --package plimsoll-harness || exit 2
fi
devices="$("$plimsoll" devices --json 2>&1)"
code=$?
if [ $code -ne 0 ]; then
    echo "$devices" >&2
    exit $code
fi

mkdir -p "$report" "$work" || exit 2
echo "$devices" >"$report/devices.json"
command -v nvidia-smi >/dev/null && nvidia-smi -q >"$report/nvidia-smi.txt" 2>&1
: >"$report/summary.txt"
failed=0

say() { echo "$*" | tee -a "$report/summary.txt"; }

# expect NAME CODE COMMAND..: runs it, keeps what it prints in NAME.txt, and holds its exit code.
expect() {
    local name="$1" wanted="$2"
    shift 2
    "$@" >"$report/$name.txt" 2>&1
    local found=$?
    if [ $found -eq "$wanted" ]; then
        say "holds  $name"
    else
        say "FAILS  $name: exit code $found, not $wanted; see $name.txt"
        failed=1
    fi
}

# number FILE PATH: a number of a JSON file, by the keys and indices that lead to it.
number() { "$python" -c 'import json, sys, functools
found = functools.reduce(lambda value, key: value[int(key) if key.isdigit() else key], sys.argv[2].split("."), json.load(open(sys.argv[1])))
print(found)' "$1" "$2"; }

# within NAME A B PERCENT: holds two times to each other.
within() {
    local verdict
    if verdict="$("$python" -c 'import sys
a, b, limit = map(float, sys.argv[1:])
off = 100 * abs(a / b - 1)
print(f"{a / 1000:.2f} us beside {b / 1000:.2f} us, {off:.2f} % apart, {limit:g} % allowed")
sys.exit(off > limit)' "$2" "$3" "$4")"; then
        say "holds  $1: $verdict"
    else
        say "FAILS  $1: $verdict"
        failed=1
    fi
}

[ -d "$work/small" ] || "$plimsoll" generate "$work/small" --preset embedding --vocab 32768 --dim 1024 --seq 4096 --entries 3 >/dev/null || exit 2
[ -d "$work/eighth" ] || "$plimsoll" generate "$work/eighth" --preset gemma4-e2b-gb10 --scale 1/8 >/dev/null || exit 2

if command -v cargo >/dev/null; then
    expect upload 0 cargo bench --offline --locked --bench gpu
    sed -n 's/^/         /p' "$report/upload.txt" | grep -E 'GB/s|%|resident' | tee -a "$report/summary.txt"
    rate="$(sed -n 's/^upload \/ pinned *\([0-9.]*\) %$/\1/p' "$report/upload.txt")"
    if ! awk "BEGIN { exit !(${rate:-0} >= 90) }"; then say "FAILS  upload: ${rate:-no} % of the pinned rate, 90 % asked"; failed=1; fi
else
    say "left out  upload: there is no cargo"
fi

if command -v nvcc >/dev/null; then
    build() { nvcc -O2 -shared -Xcompiler -fPIC -I harness/examples -o "$2" "$1"; }
    expect build-embedding 0 build harness/examples/embedding.cu "$work/embedding.so"
    expect build-adversaries 0 build tests/kernels/library/device.cu "$work/device.so"
    on_device() { "$plimsoll" "$1" "$work/$2" --kernel "$3" --device cuda --record "$report/$4.json" "${@:5}"; }
    library="lib:$work/embedding.so:embedding"
    expect small 0 on_device check small "$library" small
    expect graph 0 on_device check small "$library" graph --graph
    for protocol in samples cold until; do
        expect "$protocol" 0 on_device profile small "$library" "$protocol" --protocol "$protocol"
    done
    expect eighth-under-1GiB 0 on_device check eighth "$library" eighth --batch-bytes 384MiB --gpu-peak 1GiB
    # adversary NAME KIND: a kernel that is to fail so.
    adversary() {
        expect "adversary-$1" 1 on_device check small "lib:$work/device.so:$1" "adversary-$1"
        if grep -q "\"kind\": \"$2\"" "$report/adversary-$1.json"; then
            say "holds  adversary-$1 ends as $2"
        else
            say "FAILS  adversary-$1 does not end as $2"
            failed=1
        fi
    }
    adversary side_stream late-write
    adversary faults device-fault
    adversary mutates mutated-input
    expect adversary-nothing 1 on_device check small "lib:$work/device.so:nothing" adversary-nothing
    expect leaks 0 on_device validate small "lib:$work/device.so:leaks" leaks
    if grep -q '"growth": 10485760' "$report/leaks.json"; then say "holds  leaks: 10 MiB a launch are seen"; else say "FAILS  leaks: 10 MiB a launch are not seen"; failed=1; fi
else
    say "left out  kernels in CUDA: there is no nvcc"
fi

if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    in_python() {
        "$plimsoll" "$1" "$work/small" --kernel py:tests/kernels/torch_embedding.py --python "$python" --device cuda --record "$report/$2.json" "${@:3}"
    }
    expect python-check 0 in_python check python-check
    expect python-cold 0 in_python profile python-cold --protocol cold
    expect python-peer 0 "$python" benches/peers/gpu_loop.py "$work/small/entry_000000.pt"
    ours="$(number "$report/python-check.json" results.entries.0.profile.statistics.mean_ns)"
    within "kernelforge beside torch.cuda.Event" "$ours" "$(number "$report/python-peer.txt" kernelforge_ns)" 1
    if grep -q do_bench_ns "$report/python-peer.txt"; then
        ours="$(number "$report/python-cold.json" results.entries.0.profile.statistics.median_ns)"
        within "cold beside triton's do_bench" "$ours" "$(number "$report/python-peer.txt" do_bench_ns)" 2
    else
        say "left out  do_bench: there is no triton"
    fi
else
    say "left out  kernels in Python: $python has no torch that sees the GPU"
fi

if [ $failed -eq 0 ]; then say "everything holds"; else say "something does not hold"; fi
exit $failed
