#!/usr/bin/env bash
# Shards as tasks of Ray, of which a node is killed in the middle. Usage: PYTHON=venv/bin/python harness/scale/ray.sh (with ray)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
PYTHONPATH="$(cd "$(dirname "$0")/../python" && pwd)" "${PYTHON:-python3}" "$(dirname "$0")/ray_cluster.py" "$work" "${checked[@]}"
proven "Ray" "$work/parts"
