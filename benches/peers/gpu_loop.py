"""The loops against which Plimsoll's GPU timing is checked, on an entry of a capture: torch.nn.functional.embedding
between two torch.cuda.Events, as KernelForge times it, and triton's do_bench.

    python3 benches/peers/gpu_loop.py ENTRY.pt

prints {"kernelforge_ns": .., "do_bench_ns": .., "device": ..}; do_bench_ns is absent without triton.
"""

import json
import sys

import torch

WARMUP, LAUNCHES, ROUNDS = 25, 100, 5


def event_loop(launch):
    for _ in range(WARMUP):
        launch()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e6 / LAUNCHES


def main():
    entry = torch.load(sys.argv[1], map_location="cuda", weights_only=True)
    args = [entry["kwargs"][name] for name in entry["signature"]["params"]]
    with torch.no_grad():
        def launch():
            return torch.nn.functional.embedding(*args)

        means = sorted(event_loop(launch) for _ in range(ROUNDS))
        found = {"device": torch.cuda.get_device_name(), "kernelforge_ns": means[ROUNDS // 2]}
        try:
            from triton.testing import do_bench
        except ImportError:
            pass
        else:
            found["do_bench_ns"] = do_bench(launch, return_mode="median") * 1e6
    print(json.dumps(found))


if __name__ == "__main__":
    main()
