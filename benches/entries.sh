#!/bin/sh
# Memory and processor time of the commands that read many entries: `benches/entries.sh [COUNT]`, of 50,000 tiny entries
# by default. PROGRAM names another build than target/release/plimsoll.
#
# Memory is what GNU time reports: the largest resident set of one process, of which the program's own pages are some 20 MiB.
set -eu

count=${1:-50000}
here=$(cd "$(dirname "$0")/.." && pwd)
program=${PROGRAM:-$here/target/release/plimsoll}
[ -x "$program" ] || { echo "$program is not there: cargo build --release -p plimsoll-harness, or set PROGRAM" >&2; exit 2; }
command -v /usr/bin/time > /dev/null || { echo "/usr/bin/time is not there: install GNU time" >&2; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

measure() {
    title=$1
    shift
    /usr/bin/time -o took -f '%M %U %S %e' "$program" "$@" > out 2> err || { cat err >&2; exit 1; }
    awk -v title="$title" -v count="$count" '{
        printf "%-10s %7.1f MiB %8.2f s of processors %8.2f s %8.0f us an entry\n",
            title, $1 / 1024, $2 + $3, $4, ($2 + $3) / count * 1e6
    }' took
}

"$program" generate capture --preset embedding --entries "$count" --vocab 16 --dim 4 > out
measure check check capture --kernel builtin:embedding --launches 1 --warmup 0 --record record.json
measure inspect inspect capture
measure report report record.json --html page.html
measure terminal report record.json
measure compare compare record.json record.json
