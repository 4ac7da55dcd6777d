#!/usr/bin/env bash
# Runs the Rust tests many times on a loaded machine: six processors' worth of work and memory that is written over and over.
# Prints how often they passed and which tests failed, and fails if one did.
# Usage: harness/stability.sh [RUNS] [NEXTEST ARGUMENT..]     (10 runs; `-E 'binary(meter)'` is a part of the tests)
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-10}
shift || true
[[ "$runs" =~ ^[1-9][0-9]*$ ]] || { echo "usage: harness/stability.sh [RUNS] [NEXTEST ARGUMENT..]" >&2; exit 2; }
command -v stress-ng > /dev/null || { echo "error: stress-ng is not installed: apt-get install stress-ng" >&2; exit 2; }
cargo nextest --version > /dev/null 2>&1 ||
    { echo "error: cargo-nextest is not installed: cargo install --locked cargo-nextest" >&2; exit 2; }

# As harness/test.sh has it, so that nothing is built for this alone. Tests that need torch take part if there is one.
tests=(cargo nextest run --workspace --exclude plimsoll-torch --all-features --locked --profile ci --color never)
"${tests[@]}" --no-run

stress-ng --quiet --cpu 6 --vm 2 --vm-bytes 10% --timeout 0 &
load=$!
log=$(mktemp)
names=$(mktemp)
trap 'kill "$load" 2> /dev/null; wait "$load" 2> /dev/null || true; rm -f "$log" "$names"' EXIT

failed=0
for run in $(seq "$runs"); do
    if "${tests[@]}" --test-threads "$(($(nproc) + 2))" "$@" < /dev/null > "$log" 2>&1; then
        result=passed
    else
        result=FAILED
        failed=$((failed + 1))
        # What a failed test printed comes once, when it failed; its name once more after the summary.
        cat "$log"
        { grep -E '^ +(FAIL|TIMEOUT|SIG[A-Z0-9]+|ABORT|LEAK-FAIL) \[' "$log" || true; } |
            sed -E 's/^[^]]*\] *(\([^)]*\) *)?//' | sort -u >> "$names"
    fi
    echo "run $run of $runs $result: $(grep -m1 'Summary' "$log" | sed 's/^ *//')"
done
echo "$((runs - failed)) of $runs runs passed"
[ "$failed" -eq 0 ] || { echo "tests that failed, and how often:"; sort "$names" | uniq -c | sort -rn; exit 1; }
