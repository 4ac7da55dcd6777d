"""What an audit costs: launches and wall time of `check --audit` beside those of a plain `check`, in turns on one machine.

usage: benches/audit.py PLIMSOLL [ROUNDS]      (PLIMSOLL is a release build; needs a C compiler)

The kernel is an embedding that works for a given processor time besides, so that launches take from 1 us to 1 ms, and one that
looks up and writes 1 MiB, more than is near the processor after a pause. Printed are, of each, the medians of both and the
median of the ratios of the rounds, the spread over rounds (the quartiles' distance over the median), how far off a report
could be without being seen, and wall times. With PLIMSOLL_TORCH_PYTHON, a kernel in Python as well.
The bars: a ratio within 2 % for launches of 20 us and more, and wall time at most 1.5 times the plain.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WORK = """
#include <stdint.h>
#include "embedding.c"
static volatile uint64_t sink;
#define WORKS(name, rounds) KERNEL(name) { \\
  uint64_t x = 88172645463325252ULL; \\
  for (long i = 0; i < rounds; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17; \\
  sink = x; \\
  return __tvm_ffi_embedding(self, args, num_args, result); }
WORKS(work_1us, 500L)
WORKS(work_20us, 13000L)
WORKS(work_100us, 50000L)
WORKS(work_1ms, 500000L)
"""


PYTHON = """
import torch
def launch(*args):
    return torch.nn.functional.embedding(args[0], args[1])
"""


def main():
    program, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness", "examples")
    with tempfile.TemporaryDirectory() as folder:
        source, library, capture = (os.path.join(folder, name) for name in ("work.c", "work.so", "capture"))
        with open(source, "w", encoding="ascii") as file:
            file.write(WORK)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", examples, "-o", library, source], check=True)
        subprocess.run([program, "generate", capture, "--preset", "embedding", "--vocab", "512", "--dim", "64", "--seq", "32",
                        "--entries", "2"], check=True, stdout=subprocess.DEVNULL)
        print("| kernel | plain | audited | ratio | spread plain | spread audited | unseen a launch | wall plain | wall audited |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name in ("work_1us", "work_20us", "work_100us", "work_1ms"):
            row(program, capture, ["--kernel", f"lib:{library}:{name}"], name, folder, rounds)
        rows = os.path.join(folder, "rows")
        subprocess.run([program, "generate", rows, "--preset", "embedding", "--vocab", "8192", "--dim", "512", "--seq", "1024",
                        "--entries", "2"], check=True, stdout=subprocess.DEVNULL)
        row(program, rows, ["--kernel", f"lib:{library}:work_1us"], "1 MiB of rows", folder, rounds)
        python = os.environ.get("PLIMSOLL_TORCH_PYTHON")
        if python:
            source = os.path.join(folder, "kernel.py")
            with open(source, "w", encoding="ascii") as file:
                file.write(PYTHON)
            row(program, capture, ["--kernel", f"py:{source}", "--python", python], "Python", folder, rounds)


def spread(found):
    low, middle, high = statistics.quantiles(found, n=4)
    return (high - low) / middle


def row(program, capture, kernel, name, folder, rounds):
    times, walls, unseen = {(): [], ("--audit",): []}, {(): [], ("--audit",): []}, 0
    for turn in range(rounds):
        for flags in list(times)[::1 if turn % 2 else -1]:
            record = os.path.join(folder, "record.json")
            start = time.monotonic()
            subprocess.run([program, "check", capture, *kernel, "--record", record, *flags], check=True,
                           stdout=subprocess.DEVNULL)
            walls[flags].append(time.monotonic() - start)
            with open(record, encoding="utf-8") as file:
                profiles = [entry["profile"] for entry in json.load(file)["results"]["entries"]]
            times[flags].append(statistics.median(profile["statistics"]["median_ns"] for profile in profiles))
            unseen = max([unseen, *(profile["audit"]["overhead_ns"] for profile in profiles if "audit" in profile)])
    plain, audited = (statistics.median(found) for found in times.values())
    ratio = statistics.median(two / one for one, two in zip(*times.values()))
    spreads = [spread(found) for found in times.values()]
    wall = [statistics.median(found) for found in walls.values()]
    print(f"| {name} | {plain / 1000:.2f} us | {audited / 1000:.2f} us | {ratio:.3f} | {spreads[0]:.1%} | {spreads[1]:.1%} | "
          f"{unseen / 1000:.1f} us | {wall[0]:.2f} s | {wall[1]:.2f} s |", flush=True)


main()
