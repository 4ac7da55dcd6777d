#!/usr/bin/env python3
"""How often gates of memory are wrong: comparisons of equals, and of ten per cent more, of a real program on a busy machine.

usage: benches/peers/gate.py [--plimsoll PROGRAM] [--comparisons 100] [--runs 5,10] [--pairs 10] [--growth 10]
                             [--buffers 120] [--load 0.5] [--seed 1] [--only gate|ab]

The program keeps a table, and its threads take and free buffers of random sizes, so that its peak depends on how the
scheduler lets them overlap: by some percent, more on a busy machine. It is metered by `plimsoll run --repeat` and
judged by `plimsoll gate`, and by `plimsoll ab`, while as many processes as --load says per processor do work. A false
failure is a comparison of equals that fails; a detection is a comparison with the growth that does. Other rules judge
exactly the same peaks: the largest run, one run and the median against a threshold, as in scripts and perfgate's
budgets, and criterion's rule, a t-test with a threshold for noise. Use a release build.
"""
import argparse, json, os, random, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The table and every buffer grow with the share.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double share;
static void *work(void *seed) {
    unsigned state = (unsigned)(size_t)seed;
    for (int i = 0; i < 8; i++) {
        usleep(300 + rand_r(&state) % 1500);
        size_t size = (size_t)(share * (BUFFERS << 10) * (1 + rand_r(&state) % 6));
        char *buffer = malloc(size);
        memset(buffer, i + 1, size);
        usleep(300 + rand_r(&state) % 1500);
        free(buffer);
    }
    return 0;
}
int main(int count, char **words) {
    share = atof(count > 1 ? words[1] : getenv("SHARE"));
    size_t table = (size_t)(share * (10 << 20));
    memset(malloc(table), 1, table);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)(now.tv_nsec + i * 7919));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=TARGET / "release" / "plimsoll")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--runs", type=lambda text: [int(runs) for runs in text.split(",")], default=[5, 10])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--growth", type=float, default=10)
    parser.add_argument("--buffers", type=int, default=120, metavar="KIB", help="the step of their sizes: more scatter more")
    parser.add_argument("--load", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["gate", "ab"])
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    busy = []
    try:
        (folder / "load.c").write_text(PROGRAM)
        subprocess.run(["cc", "-O0", "-pthread", f"-DBUFFERS={args.buffers}", "-o", folder / "load", folder / "load.c"], check=True)
        work = "table = {}\nwhile True:\n    table = {key: str(key) for key in range(100_000)}\n"
        for _ in range(round(args.load * (os.cpu_count() or 1))):
            busy.append(subprocess.Popen([sys.executable, "-c", work]))
        compare(args, folder)
    finally:
        for process in busy:
            process.kill()
        shutil.rmtree(folder)


def compare(args, folder):
    began = time.time()
    lots = random.Random(args.seed)
    # The memory of a process without a table does not grow, so the table grows by more.
    typical = lambda share: statistics.median(record(args, folder, "a", 9, share))
    grown = 1 + args.growth / 100 / (1 - typical(0) / typical(1))
    rules = peers(lots)
    tables = {}
    scatter = []
    for kind, share in [("equals", 1.0), ("growth", grown)]:
        counts = tables[kind] = {}
        for number in range(args.comparisons):
            for runs in args.runs if args.only != "ab" else []:
                sides = [record(args, folder, side, runs, share) for side, share in [("a", 1.0), ("b", share)]]
                scatter += [statistics.stdev(side) / statistics.mean(side) for side in sides]
                verdicts = {"plimsoll gate": gate(args, folder)}
                verdicts |= {rule: "fail" if fails(*sides) else "pass" for rule, fails in rules.items()}
                for rule, verdict in verdicts.items():
                    counts.setdefault(f"{rule}, {runs} runs a side", []).append(verdict)
            if args.only != "gate":
                rule = f"plimsoll ab, {args.pairs} pairs"
                counts.setdefault(rule, []).append(pairs(args, folder, share, number))
    if scatter:
        print(f"peak_rss of one side's runs scatters by {statistics.mean(scatter):.1%} (mean of the standard deviations)")
    print(f"{args.comparisons} comparisons each, load {args.load:g} a processor, limit 5% | 256 KiB, {time.time() - began:.0f} s\n")
    print(f"| rule | equals that failed | {args.growth:g} % more that failed | undecided (equals, more) |\n|---|--:|--:|--:|")
    for rule, equals in tables["equals"].items():
        more = tables["growth"][rule]
        untold = [side.count("inconclusive") for side in (equals, more)]
        print(f"| {rule} | {equals.count('fail')} | {more.count('fail')} | {untold[0]}, {untold[1]} |")


def record(args, folder, side, runs, share):
    """Runs one side; returns its peaks in bytes."""
    path = folder / f"{side}.json"
    command = [args.plimsoll, "run", "--no-config", "--repeat", str(runs), "--label", "load", "--record", path]
    command += ["--", folder / "load"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "SHARE": str(share)})
    runs = json.loads(path.read_text())["runs"]
    return [max(phase["readings"]["peak_rss"]["bytes"] for phase in run["phases"]) for run in runs]


def gate(args, folder):
    command = [args.plimsoll, "gate", "--no-config", folder / "b.json", "--baseline", folder / "a.json", "--json"]
    return judged(command + ["--limit", "peak_rss=5% | 256 KiB"])


def pairs(args, folder, share, seed):
    command = [args.plimsoll, "ab", "--no-config", "--repeat", str(args.pairs), "--seed", str(seed), "--json"]
    command += ["--limit", "peak_rss=5% | 256 KiB", "--", folder / "load", "1", "--vs", folder / "load", str(share)]
    return judged(command)


def judged(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(map(str, command))}: {run.stderr}")
    return json.loads(run.stdout)["outcome"]


def peers(lots):
    """The rules of others: whether `b` fails against `a`."""
    return {
        "first run beyond 5 %": lambda a, b: b[0] > a[0] * 1.05,
        "largest beyond 5 %": lambda a, b: max(b) > max(a) * 1.05,
        "median beyond 5 %, as a budget of perfgate": lambda a, b: statistics.median(b) > statistics.median(a) * 1.05,
        "median beyond 10 %": lambda a, b: statistics.median(b) > statistics.median(a) * 1.10,
        "t-test at 5 % beyond 1 %, as criterion": lambda a, b: criterion(a, b, lots),
    }


def criterion(a, b, lots, resamples=2000):
    """Criterion's: the share of t statistics of resamples of both together that are as extreme, and a threshold for noise."""
    def t(x, y):
        error = (statistics.variance(x) / len(x) + statistics.variance(y) / len(y)) ** 0.5
        return (statistics.fmean(y) - statistics.fmean(x)) / error if error else 0.0
    found, both = abs(t(a, b)), a + b
    draw = lambda count: [both[lots.randrange(len(both))] for _ in range(count)]
    extreme = sum(abs(t(draw(len(a)), draw(len(b)))) >= found for _ in range(resamples))
    return extreme / resamples < 0.05 and statistics.fmean(b) > statistics.fmean(a) * 1.01


if __name__ == "__main__":
    main()
