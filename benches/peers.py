#!/usr/bin/env python3
"""Runs Plimsoll beside its peers, in one run on one capture, and prints the table.

usage: benches/peers.py [--torch-python PYTHON] [--divisor 8] [--capture DIR] [--work DIR] [--rounds 3]

PYTHON has torch 2.11 (default: the one that harness/test.sh sets up). Without --capture, torch writes the capture of
the two embedding tables at 1/divisor of its full size into WORK (1/8: 6.5 GiB). Wall times of Plimsoll are those of the
whole process, from start to exit; those of the peers exclude their imports. The time and memory of starting libtorch
are those of validating one entry of a few bytes; they are left out of the row of `torch:`, like the peer's imports, and
shown beside it. The rows of a cold cache need root, to drop the capture from the page cache. Peak memory is the largest
sum of resident sets over the process tree, sampled every 2 ms; in brackets the sum of the processes' own high-water
marks, which is never too small.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, threading, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MIB = 2**20


def tree(root):
    """The ids of a process and everything below it."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                queue += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            pass
    return found


def memory(pid):
    try:
        text = Path(f"/proc/{pid}/status").read_text()
        return tuple(int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M)[1]) * 1024 for key in ("VmRSS", "VmHWM"))
    except (OSError, TypeError):
        return (0, 0)


def run(command):
    """Runs a command; returns its output, wall seconds, largest sampled sum of RSS and sum of high-water marks."""
    start = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=ROOT)
    peak, marks, done = 0, {}, threading.Event()

    def sample():
        nonlocal peak
        while not done.is_set():
            figures = {pid: memory(pid) for pid in tree(process.pid)}
            peak = max(peak, sum(rss for rss, _ in figures.values()))
            for pid, (_, mark) in figures.items():
                marks[pid] = max(marks.get(pid, 0), mark)
            time.sleep(0.002)

    sampler = threading.Thread(target=sample)
    sampler.start()
    out, err = process.communicate()
    wall = time.perf_counter() - start
    done.set()
    sampler.join()
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))} exited with {process.returncode}:\n{out}\n{err}")
    return out, wall, peak, sum(marks.values())


def best(rounds, command):
    """The round with the median wall time."""
    runs = sorted((run(command) for _ in range(rounds)), key=lambda r: r[1])
    return runs[len(runs) // 2]


def dropped(before):
    """Drops the page cache, then reloads what `before` needs (programs and libraries)."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    return run(before)


class Table:
    def __init__(self):
        self.rows = []

    def add(self, job, ours, peer, ratio):
        self.rows.append((job, ours, peer, ratio))
        print(f"  {job}: {ours} | {peer} | {ratio}", file=sys.stderr)

    def print(self):
        print("| job | Plimsoll | peer | ratio |\n|---|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def seconds(wall):
    return f"{wall * 1e3:.1f} ms" if wall < 1 else f"{wall:.2f} s"


def mib(peak, marks=None):
    return f"{peak / MIB:.0f} MiB" + (f" [{marks / MIB:.0f}]" if marks is not None else "")


def worker_peak(record):
    """The largest resident set of a worker in a record."""
    processes = [process for phase in json.loads(record)["phases"] for process in phase["processes"]]
    return max(process["peak_rss"]["bytes"] for process in processes if process["name"].startswith("worker"))


def loop(text):
    """The seconds and MiB that a peer prints about itself."""
    return float(re.search(r"loop ([\d.]+) ?s", text)[1]), float(re.search(r"peak ([\d.]+) MiB", text)[1])


def main():
    default_python = TARGET / "torch-venv" / "bin" / "python"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", default=os.environ.get("PLIMSOLL_TORCH_PYTHON", default_python))
    parser.add_argument("--divisor", type=int, default=8)
    parser.add_argument("--capture")
    parser.add_argument("--work", default=TARGET / "peers")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python, work = options.torch_python, Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "--package", "plimsoll-harness"], cwd=ROOT, check=True)
    plimsoll = TARGET / "release" / "plimsoll"
    capture = Path(options.capture or work / f"capture-{options.divisor}")
    if not capture.exists():
        run([python, HERE / "peers/make_capture.py", capture, options.divisor])
    for entry in capture.glob("entry_*.pt"):  # warm: every job below finds the files in the page cache
        with open(entry, "rb", buffering=0) as file:
            while file.read(8 * MIB):
                pass
    size = sum(entry.stat().st_size for entry in capture.glob("entry_*.pt"))
    print(f"capture: {capture.name}, {size / 2**30:.2f} GiB", file=sys.stderr)
    table = Table()
    # With that Python first in PATH, the worker of `torch:` is linked to its libtorch.
    with_torch = {"LIBTORCH_USE_PYTORCH": "1", "PATH": f"{Path(python).absolute().parent}:{os.environ['PATH']}"}
    subprocess.run(["cargo", "build", "--release", "--locked", "--package", "plimsoll-torch", "--features", "tch"],
                   cwd=ROOT, check=True, env={**os.environ, **with_torch})

    builtin = [plimsoll, "validate", capture, "--kernel", "builtin:embedding", "--no-record"]
    _, wall, peak, marks = best(max(options.rounds, 5), builtin)
    loads = lambda mode: [python, HERE / "peers/load_loop.py", capture, mode]
    for mode in ("all", "stream", "mmap"):
        out, _, _, _ = best(options.rounds, loads(mode))
        theirs, theirs_peak = loop(out)
        table.add(f"validate, beside torch.load {mode}", f"{seconds(wall)}, {mib(peak, marks)}",
                  f"{seconds(theirs)}, {theirs_peak:.0f} MiB", f"{theirs / wall:.0f}x faster")

    tiny = work / "tiny"
    shutil.rmtree(tiny, ignore_errors=True)
    run([plimsoll, "generate", tiny, "--preset", "embedding", "--vocab", "16", "--dim", "16", "--seq", "4", "--entries", "1"])
    operator = lambda of: [plimsoll, "validate", of, "--kernel", "torch:embedding", "--json"]
    os.environ["PLIMSOLL_TORCH_WORKER"] = str(TARGET / "release" / "plimsoll-torch-worker")
    out, start, _, _ = best(max(options.rounds, 5), operator(tiny))
    own = worker_peak(out)
    out, wall, _, _ = best(max(options.rounds, 5), operator(capture))
    table.add("validate, torch:embedding, beside torch.load mmap",
              f"{seconds(wall - start)} after {seconds(start)} to start libtorch, worker {mib(worker_peak(out))}",
              f"{seconds(theirs)} after its imports, {theirs_peak:.0f} MiB",
              f"{theirs / (wall - start):.0f}x faster, {(worker_peak(out) - own) / MIB:+.0f} MiB to libtorch alone")

    if os.access("/proc/sys/vm/drop_caches", os.W_OK):
        builtins, operators, theirs = [], [], []
        for _ in range(max(options.rounds, 5)):  # in turn
            dropped([plimsoll, "validate", tiny, "--kernel", "builtin:embedding", "--no-record"])
            builtins.append(run(builtin)[1])
            dropped(operator(tiny))
            start = run(operator(tiny))[1]
            operators.append(run(operator(capture))[1] - start)
            dropped([python, "-c", "import torch"])
            theirs.append(loop(run(loads("mmap"))[0])[0])
        theirs = statistics.median(theirs)
        for kernel, ours in (("builtin:embedding", builtins), ("torch:embedding", operators)):
            wall = statistics.median(ours)
            table.add(f"validate, {kernel}, beside torch.load mmap, cold cache", seconds(wall), seconds(theirs),
                      f"{theirs / wall:.0f}x faster")
    else:
        print("left out: the rows of a cold cache, which need root", file=sys.stderr)

    kernel = f"py:{ROOT / 'tests/kernels/torch_embedding.py'}"
    importing = "import torch, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    torch_mib = float(run([python, "-c", importing])[0])
    command = [plimsoll, "validate", capture, "--kernel", kernel, "--python", python, "--json"]
    out, wall, peak, _ = best(1, command)
    worker = worker_peak(out)
    table.add("validate, py: torch's own embedding", f"{seconds(wall)}, worker {mib(worker)}",
              f"import torch alone {torch_mib:.0f} MiB", f"{worker / MIB - torch_mib:+.0f} MiB")

    ours, theirs = [], []
    for _ in range(options.rounds):  # in turn, so that a drifting machine cancels out
        out, _, peak, _ = run([plimsoll, "profile", capture, "--kernel", kernel, "--python", python,
                               "--batch-bytes", "1GiB", "--json"])
        ours.append(json.loads(out)["results"]["timing"]["median_ns"] / 1e3)
        out, _, _, _ = run([python, HERE / "peers/profile_loop.py", capture, "1"])
        theirs.append(float(re.search(r"median ([\d.]+) us", out)[1]))
        theirs_peak = loop(out)[1]
    table.add("profile, py: torch's own embedding, median launch", f"{statistics.median(ours):.1f} us, {mib(peak)}",
              f"batch 1: {statistics.median(theirs):.1f} us, {theirs_peak:.0f} MiB",
              f"{statistics.median(ours) / statistics.median(theirs):.2f}")

    generated = work / "generated"
    shutil.rmtree(generated, ignore_errors=True)
    rates, saves, peaks = [], [], []
    for _ in range(options.rounds):
        _, wall, _, marks = run([plimsoll, "generate", generated, "--preset", "gemma4-e2b-gb10", "--scale",
                                 f"1/{options.divisor}"])
        rates.append(sum(f.stat().st_size for f in generated.iterdir()) / wall / 1e9)
        peaks.append(marks)
        shutil.rmtree(generated)
        saves.append(float(run([python, HERE / "peers/save.py", generated, options.divisor])[0]))
        shutil.rmtree(generated)
    ours, theirs = statistics.median(rates), statistics.median(saves)
    table.add("generate", f"{ours:.2f} GB/s, {mib(max(peaks))}", f"torch.save {theirs:.2f} GB/s", f"{ours / theirs:.1f}x")

    subprocess.run(["cargo", "bench", "--locked", "--bench", "compare"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    allclose = re.findall(r"^(\w+)/(\w+): ([\d.]+) GB/s", run([python, HERE / "peers/allclose.py"])[0], re.M)
    for dtype, case, theirs in allclose:
        words = {"near": "differing everywhere"}.get(case, case)
        figures = TARGET / "criterion" / "compare 256 MiB" / dtype / case / "new"
        estimate = json.loads((figures / "estimates.json").read_text())
        throughput = json.loads((figures / "benchmark.json").read_text())["throughput"]
        rate = throughput["Bytes"] / estimate["median"]["point_estimate"]
        table.add(f"compare {dtype}, {words}, one thread", f"{rate:.1f} GB/s", f"torch.allclose {theirs} GB/s",
                  f"{rate / float(theirs):.0f}x")
    table.print()


if __name__ == "__main__":
    main()
