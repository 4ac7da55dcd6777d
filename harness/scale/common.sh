# Shared by the scripts of this folder: a capture, the record of one run on all of it, and the proof that shards make the same.
# shellcheck shell=bash
set -euo pipefail
# The program: the one that PLIMSOLL names, or the one on the path.
plimsoll="${PLIMSOLL:-$(command -v plimsoll)}" || { echo "no program plimsoll: name it in PLIMSOLL" >&2; exit 2; }
export PLIMSOLL="$plimsoll"
work="$(mktemp -d)"
cleanup() { rm -rf "$work"; }
trap cleanup EXIT
# What is checked: every engine runs the same.
checked=("$work/capture" --kernel builtin:embedding --warmup 0 --launches 2)
"$plimsoll" generate "$work/capture" --preset embedding --vocab 512 --dim 64 --seq 32 --entries "${ENTRIES:-12}" > "$work/log"
"$plimsoll" check "${checked[@]}" --record "$work/whole.json" > "$work/log"

# Merges the records of a folder, and compares the digest with that of the run on everything. Usage: proven ENGINE FOLDER
proven() {
    "$plimsoll" merge "$2" --out "$work/merged.json" --json > "$work/merged" 2> "$work/errors" ||
        { cat "$work/errors"; echo "$1: the merged record does not hold" >&2; exit 1; }
    python3 - "$1" "$work/whole.json" "$work/merged.json" <<'PYTHON'
import json, sys
engine, whole, merged = sys.argv[1], *(json.load(open(path)) for path in sys.argv[2:])
assert merged["semantics_digest"] == whole["semantics_digest"], "the merged record is of something else"
parts = [f"{part['shard']['index']}/{part['shard']['count']}" for part in merged["parts"]]
launchers = {(part.get("rank") or {}).get("launcher", "by hand") for part in merged["parts"]}
print(f"{engine}: {len(parts)} shards ({', '.join(sorted(launchers))}) make the record of the whole")
PYTHON
}

# The peaks of ranks in one record. Usage: peaks ENGINE RANKS RECORD..
peaks() {
    local engine="$1" ranks="$2"
    shift 2
    "$plimsoll" merge "$@" --out "$work/ranks.json" > "$work/ranks"
    python3 -c 'import json, sys
found = sorted(part["rank"]["rank"] for part in json.load(open(sys.argv[1]))["parts"])
assert found == list(range(int(sys.argv[2]))), found' "$work/ranks.json" "$ranks"
    echo "$engine: the memory of $ranks ranks is in one record"
}
