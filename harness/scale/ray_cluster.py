"""Runs a check as tasks of a local Ray cluster of two worker nodes, and kills one while a shard runs on it."""

import glob
import os
import stat
import sys
import threading
import time

import ray
from ray.cluster_utils import Cluster

from plimsoll.ray import run

SHARDS = 6


def main():
    work, capture, *flags = sys.argv[1:]
    # Notes who runs: the raylet that a task belongs to is its node. The first shard on a node is held until it is killed.
    program = os.path.join(work, "program")
    held = os.path.join(work, "held")
    with open(program, "w") as script:
        script.write(
            "#!/bin/sh\n"
            f'touch "{work}/started-$RAY_RAYLET_PID-$$"\n'
            f'while [ -e "{held}-$RAY_RAYLET_PID" ]; do sleep 0.1; done\n'
            'exec "$PLIMSOLL" "$@"\n'
        )
    os.chmod(program, os.stat(program).st_mode | stat.S_IXUSR)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    doomed = cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address)
    raylet = doomed.all_processes["raylet"][0].process.pid
    open(f"{held}-{raylet}", "w").close()

    def kill():
        while not glob.glob(f"{work}/started-{raylet}-*"):
            time.sleep(0.05)
        cluster.remove_node(doomed, allow_graceful=False)
        print("killed a node while a shard ran on it", flush=True)

    killer = threading.Thread(target=kill)
    killer.start()
    merged = run(
        "check", capture, *flags, shards=SHARDS, out=os.path.join(work, "merged.json"), records=os.path.join(work, "parts"),
        program=program,
    )
    killer.join()
    print(merged)
    started = len(glob.glob(f"{work}/started-*"))
    assert started > SHARDS, f"{started} starts: no shard was started again"
    assert merged.exit_code == 0, merged
    ray.shutdown()
    cluster.shutdown()


main()
