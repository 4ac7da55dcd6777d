#!/usr/bin/env bash
# Runs the engines of this folder, installs what they need, and says what could not be run and why.
# Usage: harness/scale/test.sh [ENGINE ..]   (all: openmpi torchrun slurm ray kubernetes)
#
# Debian's packages are installed if this is root; torch and Ray go into target/scale-venv, unless PLIMSOLL_TORCH_PYTHON names
# a Python with torch. Exit code: 1 if an engine failed, 3 if one could not be run.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
target="${CARGO_TARGET_DIR:-target}"
if [ -z "${PLIMSOLL:-}" ]; then
    cargo build --locked --package plimsoll-harness || exit 1
    PLIMSOLL="$(cd "$target" && pwd)/debug/plimsoll"
fi
export PLIMSOLL
venv="$target/scale-venv"
lacking=() failed=()

has() { command -v "$1" > /dev/null; }

installed() { # PROGRAM PACKAGE..
    has "$1" && return
    [ "$(id -u)" -eq 0 ] && has apt-get || return
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${@:2}" > /dev/null
    has "$1"
}

in_venv() { # MODULE PACKAGE
    "$venv/bin/python" -c "import $1" 2> /dev/null && return
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || return
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "$2"
}

engine() { # NAME READY..
    local name="$1"
    shift
    echo "== $name"
    if ! "$@"; then
        lacking+=("$name: $* failed")
    elif ! "harness/scale/$name.sh"; then
        failed+=("$name")
    fi
}

slurm_ready() { installed slurmctld slurm-wlm && installed munged munge && has slurmd; }

torch_ready() {
    [ -z "${PLIMSOLL_TORCH_PYTHON:-}" ] || { export PYTHON="$PLIMSOLL_TORCH_PYTHON"; return; }
    in_venv torch "torch==2.11.0" && in_venv numpy numpy && export PYTHON="$venv/bin/python"
}

ray_ready() { in_venv ray "ray>=2.40" && export PYTHON="$venv/bin/python"; }

yaml_ready() { in_venv yaml pyyaml && export PYTHON="$venv/bin/python"; }

[ $# -gt 0 ] || set -- openmpi torchrun slurm ray kubernetes
for name; do
    case "$name" in
        openmpi) engine openmpi installed mpirun openmpi-bin ;;
        torchrun) engine torchrun torch_ready ;;
        slurm) engine slurm slurm_ready ;;
        ray) engine ray ray_ready ;;
        kubernetes) engine kubernetes yaml_ready ;;
        *) echo "usage: harness/scale/test.sh [openmpi | torchrun | slurm | ray | kubernetes ..]" >&2; exit 2 ;;
    esac
done
[ ${#lacking[@]} -eq 0 ] || printf 'not run: %s\n' "${lacking[@]}"
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
[ ${#lacking[@]} -eq 0 ] || exit 3
echo "all engines ran"
