#!/usr/bin/env python3
"""The cost of measuring memory, compared with memray, dhat and GNU time, in one run: the table of medians and ratios.

usage: benches/peers/test_cost.py [--memray-python PYTHON] [--rounds 7]

PYTHON has memray (default: the one that benches/peers/testing/run.sh sets up). `pages` takes 64 MiB 10 times over,
touches and frees them; `blocks` builds 12 tables of 50,000 small texts. The seconds are those of the work, without the
start of the program, except for GNU time, which cannot separate them. Rounds are interleaved, so that a busy machine
slows all equally; each ratio, to the work alone, is the median of the rounds' own ratios. Processor time is that of the
whole program. `empty` is one block around nothing.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent / "testing"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "release"

PYTHON = {
    "pages": "for _ in range(10):\n    data = bytearray(b'\\1') * (64 << 20)\n    del data",
    "blocks": "for _ in range(12):\n    table = {key: str(key) for key in range(50_000)}",
}


def run(command):
    """The program's own time for its work, the time of the whole program, and its processor time, in seconds."""
    begun = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    whole = time.perf_counter() - begun
    if status:
        sys.exit(f"{command}: {errors}")
    figures = [line for line in out.splitlines() if line.replace(".", "").replace("e-", "").isdigit()]
    return float(figures[0]), whole, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memray-python", default=HERE / "target/memray/bin/python")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "--manifest-path", HERE / "Cargo.toml"], check=True)
    folder = Path(tempfile.mkdtemp())
    try:
        measure(args, folder)
    finally:
        shutil.rmtree(folder)


def isolated(args):
    """How much longer a test program with one empty test takes if the test is `#[plimsoll::test]`, in seconds."""
    build = ["cargo", "test", "--quiet", "--release", "--no-run", "--test", "isolated", "--message-format", "json"]
    built = subprocess.check_output([*build, "--manifest-path", HERE / "Cargo.toml"], text=True)
    program = next(found for line in built.splitlines() if (found := json.loads(line).get("executable")))
    whole = lambda test: timed_run([program, "--exact", test])
    pairs = [(whole("plain"), whole("isolated")) for _ in range(args.rounds * 10)]
    return statistics.median(mine - plain for plain, mine in pairs)


def timed_run(command):
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(args, folder):
    rows = []
    for work in PYTHON:
        script = folder / f"{work}.py"
        timed = f"import time\nbegun = time.perf_counter()\n{PYTHON[work]}\nprint(time.perf_counter() - begun)\n"
        script.write_text(timed)
        memray = [args.memray_python, "-m", "memray", "run", "--quiet", "--force", "-o", folder / "memray.bin", script]
        bare = [TARGET / "bare", work]
        # Each with its reference, and whether the whole program's time counts.
        jobs = {
            "Rust alone": (bare, None, False),
            "assert_memory!, kernel's figures": ([TARGET / "block", work], "Rust alone", False),
            "assert_memory!, counting allocator": ([TARGET / "tracking", work], "Rust alone", False),
            "assert_memory!, both": ([TARGET / "both", work], "Rust alone", False),
            "dhat, testing": ([TARGET / "dhat", work], "Rust alone", False),
            "GNU time -v": (["/usr/bin/time", "-v", *bare], "Rust alone", True),
            "Python alone": ([args.memray_python, script], None, False),
            "memray run": (memray, "Python alone", False),
        }
        taken = {name: [] for name in jobs}
        for _ in range(args.rounds):
            for name, (command, _, _) in jobs.items():
                taken[name].append(run(command))
        for name, (_, beside, whole) in jobs.items():
            part = 1 if whole else 0
            median = statistics.median(round[part] for round in taken[name])
            ratios = ["", ""]
            if beside:
                pairs = list(zip(taken[name], taken[beside]))
                ratios = [statistics.median(mine[of] / theirs[of] for mine, theirs in pairs) for of in (part, 2)]
                ratios = [f"{ratio:.2f}" for ratio in ratios]
            rows.append((work, name, f"{median * 1e3:.0f} ms", *ratios))
    empty = [float(line) for line in subprocess.check_output([TARGET / "empty"], text=True).split()]
    rows.append(("empty", "assert_memory!, kernel's figures", f"{empty[0] * 1e3:.2f} ms", "", ""))
    rows.append(("empty", "assert_memory!, counting allocator", f"{empty[1] * 1e3:.3f} ms", "", ""))
    rows.append(("empty test", "#[plimsoll::test] over #[test]", f"{isolated(args) * 1e3:.1f} ms more", "", ""))
    print("| work | measured by | median | ratio of times | ratio of processor time |\n|---|---|---:|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
