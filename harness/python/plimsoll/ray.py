"""Runs a check in shards as tasks of Ray, which places them, gives them resources and restarts those whose node died.

    from plimsoll.ray import run
    merged = run("check", "/captures/embedding", "--kernel", "py:kernel.py", shards=16, out="embedding.json", num_gpus=1)

Every node must see the capture and the kernel. Nothing else is shared: a task returns its record to the driver.
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import ray

from plimsoll._program import program as _installed


class ShardFailed(Exception):
    """A shard has no record: its command line, its capture or its kernel is at fault, so a retry cannot help."""


@dataclass(frozen=True)
class Merged:
    """The merged record: its file, its exit code (0 passed, 1 failed, 3 inconclusive), and the output of `plimsoll
    merge`."""

    path: str
    exit_code: int
    report: str


def run(command, capture, *flags, shards, out, records=None, program=None, num_cpus=1, num_gpus=0, resources=None, max_retries=3):
    """Runs `plimsoll COMMAND CAPTURE FLAGS` (check, validate or profile) in `shards` shards, and merges their records
    to `out`.

    `num_cpus`, `num_gpus` and `resources` are what a shard takes of its node, and `max_retries` is how often it
    restarts if its node or worker died, with the meaning that tasks of Ray give them. `records` is a folder that keeps
    the shards' own records. Shards that time entries on one node take turns, unless the flags say otherwise
    (`--profile-exclusive`).
    """
    if not ray.is_initialized():
        ray.init()
    flags = list(flags)
    if command != "validate" and not any(flag.startswith("--profile-exclusive") for flag in flags):
        flags.append("--profile-exclusive")
    if num_gpus and "--device" not in flags:
        # Ray shows a task only its own GPUs.
        flags += ["--device", "cuda"]
    words = [command, os.path.abspath(capture), *flags]
    options = {"num_cpus": num_cpus, "num_gpus": num_gpus, "resources": resources or {}, "max_retries": max_retries}
    task = ray.remote(_shard).options(**options)
    tasks = {task.remote(program, words, index, shards): index for index in range(1, shards + 1)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = records or scratch
        os.makedirs(folder, exist_ok=True)
        paths, waiting = [], list(tasks)
        while waiting:
            [done], waiting = ray.wait(waiting, num_returns=1)
            path = os.path.join(folder, f"shard-{tasks[done]}-of-{shards}.json")
            with open(path, "wb") as record:
                record.write(ray.get(done))
            paths.append(path)
        merge = [program or _installed(), "merge", *paths, "--out", os.fspath(out)]
        done = subprocess.run(merge, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 2:
        raise ShardFailed(done.stdout.strip())
    return Merged(os.fspath(out), done.returncode, done.stdout)


def _shard(program, words, index, count):
    """Runs one shard where Ray placed it, and returns its record."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "record.json")
        command = [program or _installed(), *words, "--shard", f"{index}/{count}", "--record", path]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=_ends_with_its_worker
        )
        if done.returncode not in (0, 1, 3):
            raise ShardFailed(f"shard {index} of {count} ended with {done.returncode}: {done.stdout.strip()}")
        with open(path, "rb") as record:
            return record.read()


def _ends_with_its_worker():
    # A killed worker of Ray would leave its children running, beside the restarted shard.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
