#!/usr/bin/env bash
# Runs the tests of measuring many times on a loaded machine and counts the runs that fail: none of them may.
# Usage: tests/stability.sh [RUNS] [TEST TARGET..]     (200 runs of `attribute` and `meter` where none are given)
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-200}
shift || true
targets=("${@:-attribute}")
[ $# -gt 0 ] || targets=(attribute meter)
command -v stress-ng > /dev/null || { echo "stress-ng is not installed: apt-get install stress-ng" >&2; exit 2; }

flags=()
for target in "${targets[@]}"; do flags+=(--test "$target"); done
binaries=$(cargo test -p plimsoll "${flags[@]}" --no-run --message-format=json 2> /dev/null |
    sed -n 's/.*"name":"\([a-z_]*\)".*"executable":"\([^"]*\)".*/\2/p')
[ -n "$binaries" ] || { echo "the tests do not build: cargo test -p plimsoll ${flags[*]} --no-run" >&2; exit 2; }

# A processor more than there are, and memory that is written over and over.
stress-ng --quiet --cpu "$(($(nproc) + 1))" --vm 2 --vm-bytes 10% --timeout 0 &
load=$!
log=$(mktemp)
trap 'kill "$load" 2> /dev/null; wait "$load" 2> /dev/null || true; rm -f "$log"' EXIT

failed=0
for run in $(seq "$runs"); do
    for binary in $binaries; do
        # Those that call the compiler or another runner have nothing to do with load.
        if ! CARGO_MANIFEST_DIR=$PWD "$binary" --skip wrong_arguments --skip nextest < /dev/null > "$log" 2>&1; then
            failed=$((failed + 1))
            echo "run $run of $(basename "$binary"):"
            sed -n '/^failures:$/,$p' "$log"
        fi
    done
    [ $((run % 20)) -ne 0 ] || echo "$run runs, $failed failed"
done
echo "$failed of $runs runs failed"
[ "$failed" -eq 0 ]
