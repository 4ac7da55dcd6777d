#!/usr/bin/env python3
"""The benefit of `ab --duet` over turns on a busy machine: the width of the interval, and how often equals fail.

usage: benches/peers/duet.py [--plimsoll PROGRAM] [--comparisons 10] [--pairs 20] [--load 1] [--together] [--slower 10]

A program with a fixed amount of work is compared with itself, and with itself doing some percent more, in turns and at
once, while other processes take processors for a part of a second each, like someone else's builds. The width is that
of the 99 % interval of the wall time and of the processor time, in percent; failures are at a limit of 5 %. Use a
release build; --load is how many such processes there are per processor. With --together they come and go at the same
time, as those of a parallel build do, so that they slow both sides of a pair alike.
"""
import argparse, json, os, random, statistics, subprocess, sys, tempfile, threading, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FIGURES = ["wall", "cpu_time"]
WORK = "import sys; x = 0\nfor i in range(int(sys.argv[1])): x = (x * 31 + i) % 1000003"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=TARGET / "release" / "plimsoll")
    parser.add_argument("--comparisons", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--load", type=float, default=1)
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--slower", type=float, default=10)
    parser.add_argument("--work", type=int, default=1_500_000)
    args = parser.parse_args()
    over = threading.Event()
    lots = random.Random(1)
    processes = round(args.load * os.cpu_count())
    groups = [processes] if args.together else [1] * processes
    others = [threading.Thread(target=disturb, args=(over, lots.random(), size)) for size in groups]
    for other in others:
        other.start()
    try:
        print(f"{args.pairs} pairs, {args.comparisons} comparisons each, load {args.load:g} a processor"
              f"{', all at the same time' if args.together else ''}\n")
        print("| figure | | width of the interval, median | widest | equals that failed | "
              f"{args.slower:g} % slower that failed | s a comparison |\n|---|---|--:|--:|--:|--:|--:|")
        rows = {"in turns": [], "`--duet`": ["--duet"]}
        found = {name: ([], []) for name in rows}
        took = {name: 0.0 for name in rows}
        # In turns, so that the machine is the same for both.
        for number in range(args.comparisons):
            for name, flags in rows.items():
                at = time.time()
                for side, share in enumerate([1, 1 + args.slower / 100]):
                    found[name][side].append(compare(args, flags, share, number))
                took[name] += time.time() - at
        for figure in FIGURES:
            for name, sides in found.items():
                equals, slower = ([comparison[figure] for comparison in side] for side in sides)
                widths = [width for width, _ in equals]
                failed = [sum(outcome == "fail" for _, outcome in side) for side in (equals, slower)]
                print(f"| {figure} | {name} | {statistics.median(widths):.1f} % | {max(widths):.1f} % | {failed[0]} of "
                      f"{len(equals)} | {failed[1]} of {len(slower)} | {took[name] / 2 / args.comparisons:.1f} |")
    finally:
        over.set()


def disturb(over, seed, processes):
    lots = random.Random(seed)
    while not over.is_set():
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
        over.wait(lots.uniform(0.1, 1.5))
        for process in busy:
            process.kill()
            process.wait()
        over.wait(lots.uniform(0.1, 1.5))


def compare(args, flags, share, seed):
    side = lambda share: [sys.executable, "-c", WORK, str(int(args.work * share))]
    command = [args.plimsoll, "ab", "--no-config", "--json", "--repeat", str(args.pairs), "--seed", str(seed), *flags]
    for figure in FIGURES:
        command += ["--limit", f"{figure}=5%"]
    run = subprocess.run([*command, "--", *side(1), "--vs", *side(share)], capture_output=True, text=True)
    if run.returncode not in (0, 1, 3):
        sys.exit(run.stderr)
    found = {}
    for figure in json.loads(run.stdout)["subjects"][0]["figures"]:
        if figure["name"] in FIGURES:
            interval, before = figure["comparison"]["interval"], figure["comparison"]["baseline"]["median"]
            found[figure["name"]] = (interval["high"] - interval["low"]) / before * 100, figure["outcome"]
    return found


if __name__ == "__main__":
    main()
