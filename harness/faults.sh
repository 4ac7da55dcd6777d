#!/usr/bin/env bash
# Runs the fault injection of tests/faults for MINUTES from a seed, and prints a table of fault, tries, lost, wrong and hung.
# Fails if a try lost something, got something wrong or hung; each such try is named with the seed that runs it again.
# Usage: harness/faults.sh [MINUTES] [SEED]     (10 minutes; the seed is the time)
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-10}
seed=${2:-$(date +%s)}
[[ "$minutes" =~ ^[1-9][0-9]*$ && "$seed" =~ ^[0-9]+$ ]] || { echo "usage: harness/faults.sh [MINUTES] [SEED]" >&2; exit 2; }

tests=(cargo test -p plimsoll-harness --all-features --locked --test faults --)
cargo test -p plimsoll-harness --all-features --locked --test faults --no-run
kinds=$("${tests[@]}" --list --format terse 2> /dev/null | grep -c ': test$')
log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
# One kind after the other: what one fills or loads is no fault of the next.
FAULTS_SEED=$seed FAULTS_SECONDS=$((minutes * 60 / kinds)) \
    "${tests[@]}" --test-threads 1 --nocapture > "$log" 2>&1 || status=1
[ "$status" -eq 0 ] || grep -vP '^fault-row\t' "$log"
{
    printf 'fault\ttries\tlost\twrong\thung\n'
    grep -oP 'fault-row\t\K.*' "$log"
} | awk -F '\t' '{ printf "%-34s %8s %6s %6s %6s\n", $1, $2, $3, $4, $5 }'
echo "seed $seed, $minutes min"
exit "$status"
