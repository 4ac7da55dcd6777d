#!/usr/bin/env python3
"""Known peaks of process trees, as reported by `plimsoll run`, GNU time and BenchExec in one run; and the cost of
metering.

usage: benches/peers/run.py [--plimsoll PROGRAM] [--runexec PROGRAM] [--torchrun PROGRAM] [--only truth|overhead|output]
                            [--seconds 60] [--rounds 5] [--starts 200]

Every program of the truth table holds all its buffers at once for half a second, so `taken` is what its processes hold
together, apart from a Python's initial usage, of which `base` is one. BenchExec (`pip install benchexec`) needs
permission to create control groups; tools that are missing are left out, with a message. Rounds of the overhead are
interleaved, so that a busy machine slows all equally, and each ratio is the median of the rounds' own. Use a release
build.
"""
import argparse, json, os, re, resource, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MIB = 1 << 20
HOLD = "import sys, time\ndata = bytearray(b'\\1') * (int(sys.argv[1]) << 20)\ntime.sleep(0.5)\n"
POOL = """import multiprocessing, time
def hold(barrier, mib):
    data = bytearray(b'\\1') * (mib << 20)
    barrier.wait()
    time.sleep(0.5)
if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    barrier = multiprocessing.Barrier(2)
    workers = [multiprocessing.Process(target=hold, args=(barrier, 96)) for _ in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
"""
RANK = """import os, time
import torch, torch.distributed as dist
dist.init_process_group('gloo')
data = torch.ones(96 << 20, dtype=torch.uint8)
dist.barrier()
time.sleep(0.5)
dist.destroy_process_group()
"""
WORK = """import sys, time
end = time.perf_counter() + float(sys.argv[1])
done = 0
while time.perf_counter() < end or not done:
    table = {key: str(key) for key in range(50_000)}
    data = bytearray(b'\\1') * (16 << 20)
    done += 1
    if len(sys.argv) > 2 and done == int(sys.argv[2]):
        break
print(done)
"""
# As many processes as the first argument says, each of which computes, allocates and frees so often.
TREE = """import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        for _ in range(int(sys.argv[2])):
            table = {key: str(key) for key in range(10_000)}
            data = bytearray(b'\\1') * (1 << 20)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""

PRINT = """import os, sys, time, zlib
kind, megabytes, spins = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
line = {
    'log': lambda i: f'2026-01-01 12:00:00,{i % 1000:03d} INFO trainer: step {i} loss {1 / (i + 1):.4f} lr 3e-4 tokens/s 18234 grad_norm 0.73\\n',
    'bar': lambda i: f'\\rEpoch 1: {i % 100:3d}%|####      | {i}/100000 [00:41<00:59, 17.2it/s, loss={1 / (i + 1):.3f}]',
    'memory': lambda i: f'[INFO] [utils.py:782:see_memory_usage] MA {10 + i % 3}.0 GB         Max_MA 12.0 GB         CA 14.0 GB         Max_CA 14 GB \\n',
}[kind]
block = ''.join(map(line, range(20_000))).encode()[:1 << 20]
begun = time.perf_counter()
for _ in range(megabytes):
    for _ in range(spins):
        zlib.crc32(block)
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(1, rest):]
print(time.perf_counter() - begun, file=sys.stderr)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=TARGET / "release" / "plimsoll")
    parser.add_argument("--runexec", default=shutil.which("runexec"))
    parser.add_argument("--torchrun", default=shutil.which("torchrun"))
    parser.add_argument("--only", choices=["truth", "overhead", "output"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=200)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        for name, measure in {"truth": truth, "overhead": overhead, "output": output}.items():
            if args.only in (None, name):
                measure(args, folder)
    finally:
        shutil.rmtree(folder)


def programs(args, folder):
    for name, text in {"hold.py": HOLD, "pool.py": POOL, "rank.py": RANK}.items():
        (folder / name).write_text(text)
    python, hold = sys.executable, f"{sys.executable} {folder}/hold.py"
    (folder / "Makefile").write_text(f"all: a b\na:\n\t{hold} 96\nb:\n\t{hold} 96\n")
    yield "python, base", 0, [python, folder / "hold.py", "0"]
    yield "python", 192, [python, folder / "hold.py", "192"]
    yield "two in a row, by a shell", 192, ["sh", "-c", f"{hold} 96; {hold} 192; :"]
    yield "two at once, by make -j2", 192, ["make", "-s", "-j2", "-C", folder]
    yield "two at once, by multiprocessing", 192, [python, folder / "pool.py"]
    yield "a daemon, left by a shell", 192, ["sh", "-c", f"(setsid {hold} 192 &); sleep 1.2"]
    if args.torchrun:
        torchrun = [args.torchrun, "--nproc-per-node", "2", "--master-port", "29555", folder / "rank.py"]
        yield "two ranks, by torchrun", 192, torchrun
    else:
        print("torchrun is not there: that row is left out", file=sys.stderr)


def truth(args, folder):
    rows = []
    for name, taken, command in programs(args, folder):
        command = [str(word) for word in command]
        phase = plimsoll(args, folder, command)
        readings = phase["readings"]
        cell = lambda metric: mebibytes(readings[metric]["bytes"]) + mark(readings[metric]) if metric in readings else "n/a"
        count = phase.get("process_count") or {}
        rows.append([
            name, str(taken), cell("peak_rss"), cell("peak_anon"), cell("peak_pss"), cell("peak_cgroup"),
            f"{count.get('count', 'n/a')}{'' if count.get('source', {}).get('kind') == 'exact' else '≥'}",
            gnu_time(command), runexec(args, command),
        ])
    title = ["MiB", "taken", "peak RSS", "peak anon", "peak PSS", "cgroup", "processes", "GNU time", "BenchExec"]
    table(title, rows)
    print("\n`~` sampled, `≥` a lower bound, no mark the kernel's own counter\n")


def plimsoll(args, folder, command):
    record = folder / "record.json"
    done = subprocess.run([args.plimsoll, "run", "--pss", "--cgroup", "--record", record, "--", *command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    return json.loads(record.read_text())["phases"][0]


def gnu_time(command):
    program = shutil.which("time")
    if not program:
        return "not there"
    done = subprocess.run([program, "-f", "%M", *command], capture_output=True, text=True)
    return mebibytes(int(done.stderr.split()[-1]) << 10)


def runexec(args, command):
    if not args.runexec:
        return "not there"
    output = Path(tempfile.mkstemp()[1])
    # Without a container, like the others.
    done = subprocess.run([args.runexec, "--no-container", "--output", output, "--", *command], capture_output=True, text=True)
    output.unlink()
    found = re.search(r"^memory=(\d+)B?$", done.stdout, re.MULTILINE)
    if not found:
        print(f"BenchExec: {(done.stdout + done.stderr).strip()[:300]}", file=sys.stderr)
        return "n/a"
    return mebibytes(int(found[1]))


def overhead(args, folder):
    starters = {"run -- true": [args.plimsoll, "run", "--"], "GNU time": [shutil.which("time")]}
    starters = {name: words for name, words in starters.items() if words[0]}
    turns = [[cost([*words, "true"]) for words in ([], *starters.values())] for _ in range(args.starts)]
    bare, *starts = [[statistics.median(part) * 1e3 for part in zip(*column)] for column in zip(*turns)]
    script = folder / "work.py"
    script.write_text(WORK)
    # As much work as takes this long here.
    count = subprocess.run([sys.executable, script, str(args.seconds)], capture_output=True, text=True, check=True).stdout.strip()
    work = [sys.executable, str(script), "1e9", count]
    pairs = [(seconds(work), seconds([args.plimsoll, "run", "--", *work])) for _ in range(args.rounds)]
    slower = statistics.median(metered / bare for bare, metered in pairs) - 1
    own = own_memory(args)
    slower_tree, part = tree_overhead(args, folder)
    table(["what", "measured", "of"], [
        *([f"`{name}` over `true`", f"{wall - bare[0]:.2f} ms more, {cpu - bare[1]:.2f} ms of processor time", f"{bare[0]:.2f} ms, {bare[1]:.2f}"]
          for name, (wall, cpu) in zip(starters, starts)),
        [f"a Python that computes and allocates for {args.seconds:.0f} s", f"{slower * 100:+.2f} %", f"{pairs[0][0]:.1f} s"],
        ["64 busy processes, wall time", f"{slower_tree * 100:+.2f} %", "the median of the rounds"],
        ["64 busy processes, processor time of the guardian and the meter", f"{part * 100:.2f} %", "that of the processes"],
        ["resident in the guardian and the meter", f"{own['rss'] / MIB:.1f} MiB", f"proportional {own['pss'] / MIB:.1f} MiB, marks {own['mark'] / MIB:.1f} MiB"],
    ])


def tree_overhead(args, folder):
    """How much longer 64 busy processes take, and the processor time of the guardian and the meter as a part of theirs."""
    script, record = folder / "tree.py", folder / "tree.json"
    script.write_text(TREE)
    command = lambda count: [sys.executable, str(script), "64", str(count)]
    # As much work as takes this long here.
    count = max(1, round(10 * args.seconds / seconds(command(10))))
    pairs, parts = [], []
    for _ in range(args.rounds):
        bare, begun = seconds(command(count)), time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([args.plimsoll, "run", "--quiet", "--record", record, "--", *command(count)], check=True)
        pairs.append((bare, time.perf_counter() - begun))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_all = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        activity = json.loads(record.read_text())["phases"][0]["activity"]
        of_tree = (activity["cpu_user_ns"] + activity["cpu_system_ns"]) / 1e9
        parts.append((of_all - of_tree) / of_tree)
    return statistics.median(metered / bare for bare, metered in pairs) - 1, statistics.median(parts)


def output(args, folder):
    """The cost of watching the output of a command that prints 100 MB/s into a pipe whose reader takes everything at
    once."""
    script = folder / "print.py"
    script.write_text(PRINT)
    rows = []
    for kind in ("log", "bar", "memory"):
        bare = lambda megabytes, spins: [sys.executable, str(script), kind, str(megabytes), str(spins)]
        free, one = (drained(bare(200, spins)) / 200 for spins in (0, 4))
        # As much other work between two blocks as makes the whole 100 MB/s.
        spins = max(0, round((0.01 - free) / max(one - free, 1e-9) * 4))
        megabytes = round(100 * min(args.seconds, 10))
        pairs = [
            (drained(bare(megabytes, spins)), drained([args.plimsoll, "run", "--diagnose", "--", *bare(megabytes, spins)]))
            for _ in range(args.rounds)]
        slower = statistics.median(watched / bare for bare, watched in pairs) - 1
        rows.append([kind, f"{megabytes * 1.048576 / pairs[0][0]:.0f} MB/s", f"{slower * 100:+.1f} %"])
    table(["lines", "printed", "`run --diagnose`"], rows)


def drained(command):
    """The seconds of a command whose output is read."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while os.read(child.stdout.fileno(), 1 << 20):
        pass
    if child.wait() != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return time.perf_counter() - begun


def seconds(command):
    begun = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def cost(command):
    """The seconds of a command, and those of processor time, which other programs disturb less."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    taken = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return taken, usage.ru_utime + usage.ru_stime


def own_memory(args):
    """The resident memory of both processes while a command runs, summed, their proportional sets, and their marks."""
    guardian = subprocess.Popen([args.plimsoll, "run", "--", "sleep", "3"], stderr=subprocess.DEVNULL)
    time.sleep(2)
    meter = Path(f"/proc/{guardian.pid}/task/{guardian.pid}/children").read_text().split()[0]
    of = lambda pid, file, field: int(re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)[1]) << 10
    both = (guardian.pid, meter)
    own = {
        "rss": sum(of(pid, "status", "VmRSS") for pid in both),
        "mark": sum(of(pid, "status", "VmHWM") for pid in both),
        "pss": sum(of(pid, "smaps_rollup", "Pss") for pid in both),
    }
    guardian.wait()
    return own


def mebibytes(count):
    return f"{count / MIB:.1f}"


def mark(reading):
    return {"exact": "", "sampled": "~", "lower_bound": "≥"}[reading["source"]["kind"]]


def table(title, rows):
    widths = [max(len(row[at]) for row in [title, *rows]) for at in range(len(title))]
    line = lambda row: "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
    print(line(title))
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print(line(row))


if __name__ == "__main__":
    main()
