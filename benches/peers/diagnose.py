#!/usr/bin/env python3
"""Measure `plimsoll diagnose` beside ripgrep on a quiet log, on a log in which every line belongs to an event, and on
telemetry.

    cargo build --release -p plimsoll-harness
    python3 benches/peers/diagnose.py target/release/plimsoll [MIB]

or, which builds far faster, the reader alone:

    cargo build --release -p plimsoll-diagnose --example findings
    python3 benches/peers/diagnose.py target/release/examples/findings [MIB]

ripgrep counts the lines that hold one of the same alternatives. Goals: a quiet log at 1 GB/s, a dense one at 100 MB/s, at
most 64 MiB of memory whatever the size. With the command, `run --diagnose` is measured as well, on a command that prints
100 MB/s: at most 5 % of its time.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ANCHORS = pathlib.Path(__file__).resolve().parents[2] / "src/diagnose/anchors.rs"


def quiet(index, dice):
    return (f"2026-05-01 10:00:{index % 60:02d},123 INFO trainer.py:88 step {index} loss {dice.random():.4f} lr 1.0e-04 "
            f"grad_norm {dice.random():.3f} throughput {dice.randint(1000, 9999)} tokens/s\n")


def dense(index, dice):
    if index % 2:
        return (f"[rank{dice.randint(0, 63)}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {dice.randint(1, 900)}.00 MiB. "
                f"GPU {dice.randint(0, 7)} has a total capacity of 79.15 GiB of which {dice.randint(1, 900)}.50 MiB is free. Of the "
                f"allocated memory 70.{dice.randint(10, 99)} GiB is allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated.\n")
    return (f"[{dice.randint(1, 99999)}.123456] Out of memory: Killed process {dice.randint(100, 99999)} (python3) "
            f"total-vm:{dice.randint(1000, 99999999)}kB, anon-rss:{dice.randint(1000, 9999999)}kB, file-rss:0kB, shmem-rss:0kB, UID:1000\n")


def telemetry(index, dice):
    return (f"step {index} allocated {4 + 10 * dice.random():.2f} GB reserved {20 + 10 * dice.random():.2f} GB "
            f"peak {30 + 3 * dice.random():.2f} GB\n")


def write(path, line, mib):
    dice, size, index = random.Random(1), 0, 0
    with open(path, "w") as file:
        while size < mib << 20:
            text = line(index, dice)
            file.write(text)
            size += len(text)
            index += 1


def measure(command):
    """Seconds of the wall clock and of the processor, and the peak resident memory of the command, in MiB."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def alternatives():
    body = re.search(r"const ANCHORS[^=]*= \[(.*?)\];", ANCHORS.read_text(), re.S)[1]
    words = [eval(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"', body) if "\\u" not in word]
    return [word for word in words if "\n" not in word]


def run_overhead(plimsoll, quiet_log, mib):
    """Prints what `--diagnose` adds to the time of a command that prints `mib` at 100 MB/s."""
    paced = ("import sys,time\nbegun=time.monotonic()\nout=sys.stdout.buffer\ndata=open(sys.argv[1],'rb').read()\n"
             "for at in range(0,len(data),1<<18):\n out.write(data[at:at+(1<<18)])\n"
             " time.sleep(max(0,begun+at/1e8-time.monotonic()))\n")
    seconds = {}
    for name, flags in [("run", []), ("run --diagnose", ["--diagnose"])]:
        command = [plimsoll, "run", "--quiet", *flags, "--", sys.executable, "-c", paced, quiet_log]
        seconds[name] = min(measure(command)[0] for _ in range(3))
    share = seconds["run --diagnose"] / seconds["run"] - 1
    print(f"run --diagnose at 100 MB/s: {seconds['run --diagnose']:.2f} s beside {seconds['run']:.2f} s, {share:+.1%}")


def main():
    plimsoll, mib = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 256
    own = ["diagnose", "--json"] if os.path.basename(plimsoll) == "plimsoll" else []
    search = [part for word in alternatives() for part in ("-e", word)]
    with tempfile.TemporaryDirectory() as folder:
        for name, line in [("quiet", quiet), ("dense", dense), ("telemetry", telemetry)]:
            path = os.path.join(folder, name)
            write(path, line, mib)
            for who, command in [("plimsoll", [plimsoll, *own, path]), ("ripgrep", ["rg", "-cF", *search, path])]:
                wall, cpu, memory = min(measure(command) for _ in range(3))
                print(f"{name:9} {who:9} {mib * 1.048576 / wall:8.0f} MB/s of the clock  "
                      f"{mib * 1.048576 / cpu:8.0f} MB/s of the processor  {memory:6.1f} MiB", flush=True)
        if own:
            run_overhead(plimsoll, os.path.join(folder, "quiet"), mib)


if __name__ == "__main__":
    main()
