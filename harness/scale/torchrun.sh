#!/usr/bin/env bash
# Shards and ranks under torchrun. Usage: PYTHON=venv/bin/python harness/scale/torchrun.sh (a Python with torch)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
torchrun=("${PYTHON:-python3}" -m torch.distributed.run --standalone --nproc-per-node 3 --no-python)
mkdir "$work/parts"
"${torchrun[@]}" "$plimsoll" check "${checked[@]}" --shard auto --record "$work/parts/%r.json" > "$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
proven "torchrun" "$work/parts"
"${torchrun[@]}" "$plimsoll" run --quiet --record "$work/mem-%r.json" -- true 2> "$work/log"
peaks "torchrun" 3 "$work"/mem-*.json
