#!/usr/bin/env bash
# Shards and ranks under Slurm (Debian: slurm-wlm, munge): a controller and three nodes on this host, with a key of their own.
# Needs root. Usage: harness/scale/slurm.sh
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
[ "$(id -u)" -eq 0 ] || { echo "Slurm's daemons are started by root" >&2; exit 2; }
slurm="$work/slurm"
mkdir -p "$slurm"/{state,spool,munge}
started=()
cleanup() {
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
# A message says what a daemon said, if one does not come up.
waited() { # WHAT COMMAND..
    local what="$1" tries
    shift
    for ((tries = 0; tries < 600; tries++)); do
        if "$@" > /dev/null 2>&1; then return; fi
        sleep 0.1
    done
    tail -n 20 "$slurm"/*.log >&2
    echo "Slurm: $what" >&2
    exit 1
}

# munged is particular about who owns what it uses.
chmod 755 "$work" "$slurm"
chmod 700 "$slurm/munge"
head -c 1024 /dev/urandom > "$slurm/munge/key"
chmod 600 "$slurm/munge/key"
socket="$slurm/munge.socket"
munged --foreground --force --key-file="$slurm/munge/key" --socket="$socket" --pid-file="$slurm/munge/pid" \
    --log-file="$slurm/munge/log" --seed-file="$slurm/munge/seed" > "$slurm/munged.log" 2>&1 &
started+=($!)
waited "munged does not answer" munge --socket="$socket" -n

host="$(hostname -s)"
port=$((20000 + RANDOM % 20000))
cat > "$slurm/slurm.conf" <<CONF
ClusterName=plimsoll
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$socket
CryptoType=crypto/munge
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
CONF
for node in 1 2 3; do
    echo "NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + node)) CPUs=2 State=UNKNOWN" >> "$slurm/slurm.conf"
done
echo "PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP" >> "$slurm/slurm.conf"
export SLURM_CONF="$slurm/slurm.conf"
slurmctld -D > "$slurm/slurmctld.log" 2>&1 &
started+=($!)
for node in 1 2 3; do
    mkdir -p "$slurm/spool/n$node"
    slurmd -D -N "n$node" > "$slurm/slurmd-$node.log" 2>&1 &
    started+=($!)
done
idle() { [ "$(sinfo --noheader --Node --format %T | grep -c idle)" -eq 3 ]; }
waited "its nodes do not come up" idle

# A step of six tasks on three nodes, two on each.
mkdir "$work/step" "$work/array"
srun --nodes 3 --ntasks 6 --overcommit "$plimsoll" check "${checked[@]}" --shard auto --record "$work/step/%r-node-%n.json" > "$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
proven "Slurm step" "$work/step"
srun --nodes 3 --ntasks 6 --overcommit "$plimsoll" run --quiet --record "$work/mem-%r.json" -- true
peaks "Slurm step" 6 "$work"/mem-*.json
grep -q "node 2" "$work/ranks" || { cat "$work/ranks"; echo "Slurm: the peaks of nodes are missing" >&2; exit 1; }

# An array whose ids begin at 10 and are 5 apart.
cat > "$work/job.sh" <<JOB
#!/bin/sh
exec "$plimsoll" check $(printf '%q ' "${checked[@]}") --shard auto --record "$work/array/%r.json"
JOB
sbatch --wait --array 10-25:5 --output "$work/array-%a.log" "$work/job.sh" > "$work/log" || { cat "$work"/array-*.log; exit 1; }
proven "Slurm array" "$work/array"

# A step of fewer tasks than its job, with the job's variables.
mkdir "$work/fewer"
printf '#!/bin/sh\nexec srun --preserve-env --ntasks 4 "%s" check %s --shard auto --record "%s/fewer/%%r.json"\n' \
    "$plimsoll" "$(printf '%q ' "${checked[@]}")" "$work" > "$work/fewer.sh"
sbatch --wait --ntasks 6 --output "$work/fewer.log" "$work/fewer.sh" > "$work/log" || { cat "$work/fewer.log"; exit 1; }
proven "Slurm step of a larger job" "$work/fewer"

# A script that asks for tasks and starts none is an error, also one that a task of a step has submitted.
printf '#!/bin/sh\nexec "%s" shard --shard auto\n' "$plimsoll" > "$work/outside.sh"
outside() { # COMMAND..
    "$@" sbatch --wait --ntasks 2 --output "$work/outside.log" "$work/outside.sh" > "$work/log" || true
    grep -q "start it with srun" "$work/outside.log" || { cat "$work/outside.log"; echo "Slurm: a script outside of a step is a shard" >&2; exit 1; }
    rm "$work/outside.log"
}
outside
# shellcheck disable=SC2016
outside srun --ntasks 2 --overcommit --nodes 1 sh -c '[ "$SLURM_PROCID" = 1 ] || "$@"' _
echo "Slurm: a script outside of a step is an error that names srun"
