#!/usr/bin/env bash
# The variables and the command of the indexed Job of job.yaml, without a cluster: each pod's command is run with the variable
# that Kubernetes sets. Usage: harness/scale/kubernetes.sh (PYTHON names one with ruamel.yaml or yaml, if the default has none)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
mkdir "$work/records"
ln -s "$work/capture" "$work/cap"
"${PYTHON:-python3}" - "$(dirname "$0")/job.yaml" "$work" > "$work/pod.sh" <<'PYTHON'
import sys
try:
    from ruamel.yaml import YAML
    job = YAML(typ="safe").load(open(sys.argv[1]))
except ImportError:
    import yaml
    job = yaml.safe_load(open(sys.argv[1]))
spec = job["spec"]
assert spec["completionMode"] == "Indexed"
command = spec["template"]["spec"]["containers"][0]["command"]
assert command[:2] == ["sh", "-c"] and f"auto/{spec['completions']} " in command[2], "the count is not the number of pods"
text = command[2].replace("/captures", sys.argv[2]).replace("plimsoll check", '"$PLIMSOLL" check')
print(text.replace(f"py:{sys.argv[2]}/kernel.py", "builtin:embedding --warmup 0 --launches 2"))
PYTHON
for ((index = 0; index < 8; index++)); do
    JOB_COMPLETION_INDEX=$index sh "$work/pod.sh" > "$work/log"
done
proven "Kubernetes indexed Job" "$work/records"
# An index without a count is an error.
if JOB_COMPLETION_INDEX=3 "$plimsoll" shard > "$work/log" 2>&1; then echo "an index without a count is a shard" >&2; exit 1; fi
grep -q -- "--shard auto/N" "$work/log"
echo "Kubernetes indexed Job: a count that is missing is asked for"
