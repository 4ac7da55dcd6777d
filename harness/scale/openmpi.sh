#!/usr/bin/env bash
# Shards and ranks under Open MPI (Debian: openmpi-bin). Usage: harness/scale/openmpi.sh
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
mpirun=(mpirun --oversubscribe --allow-run-as-root -n 4)
mkdir "$work/parts"
"${mpirun[@]}" "$plimsoll" check "${checked[@]}" --shard auto --record "$work/parts/%r.json" > "$work/log"
proven "Open MPI" "$work/parts"
"${mpirun[@]}" "$plimsoll" run --quiet --record "$work/mem-%r.json" -- true
peaks "Open MPI" 4 "$work"/mem-*.json
