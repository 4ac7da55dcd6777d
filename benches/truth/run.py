#!/usr/bin/env python3
"""What memory tools report for programs that hold a known amount in a known way.

usage: benches/truth/run.py [--plimsoll PROGRAM] [--mib 64] [--seconds 0.5] [--runs 3] [--rows KIND,..] [--tools NAME,..|none] [--folder DIR]

Every program is benches/truth/hold.c with one word for the way, and every figure the median of the runs. The tool's own
figure for a program that holds nothing is subtracted, so that the C library's or Python's usage does not count. For
`plimsoll run`, the table names the metric that the row uses; `cgroup` is the peak of the control group that `--cgroup`
creates. Missing peers are left out, with a message: GNU time, BenchExec (runexec), psrecord, heaptrack, memray (which
only sees a Python, and loads the same source as a library). Without an NVIDIA GPU, its row is measured on the emulated
driver of the tests (tests/emulation), which the table says.

A row passes if plimsoll, by one of its two columns, is within 1 % or 1 MiB of the truth, and no peer is nearer by more
than the resolution: half a MiB, by which the kernel's own counters are late on two processors (a batch of 32 pages for
each processor and kind of page), or the range of the runs if that is more. A row that neither answers is `nobody`. Exit
code 1 if a row fails.
"""
import argparse, json, os, re, shutil, subprocess, sys, tempfile
from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MIB = 1 << 20
RESOLUTION = MIB // 2
IMPOSSIBLE = 77  # hold's exit code if the machine lacks what the row needs

# The way, its description, its metric, and its share of --mib (1,000 children take their time).
ROWS = [
    ("heap", "heap", "peak_rss", 1),
    ("mmap", "anonymous mapping", "peak_rss", 1),
    ("brief", "the same, over at once", "peak_rss", 1),
    ("file-private", "private mapping of a file, written", "peak_rss", 1),
    ("file-shared", "shared mapping of a file, written", "peak_rss", 1),
    ("tmpfs", "file in tmpfs, not mapped", "peak_cgroup", 1),
    ("tmpfs-mapped", "file in tmpfs, mapped", "peak_shmem", 1),
    ("memfd", "memfd", "peak_shmem", 1),
    ("thp", "transparent huge pages", "peak_rss", 1),
    ("hugetlb", "huge pages of hugetlbfs", "peak_hugetlb", 1),
    ("stacks", "stacks of 8 threads", "peak_rss", 1),
    ("fork", "half, and half in a fork", "peak_pss", 1),
    ("setsid", "the same, the fork in its own session", "peak_pss", 1),
    ("daemon", "double-forked daemon", "peak_rss", 1),
    ("short", "1,000 children, one after another", "peak_rss", 0.25),
    ("freed", "freed before the end", "peak_rss", 1),
    ("dontneed", "given back by MADV_DONTNEED", "peak_rss", 1),
    ("swap", "swapped out", "peak_swap", 1),
    ("gpu", "memory of a GPU", "gpu_peak", 1),
]
PYTHON = "import ctypes, sys\nctypes.CDLL(sys.argv[1]).hold(sys.argv[2].encode(), ctypes.c_size_t(int(sys.argv[3])), ctypes.c_double(float(sys.argv[4])))\n"


Held = namedtuple("Held", "bytes range")


class Missing(Exception):
    """The tool has no figure for the row."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", type=lambda path: Path(path).absolute(), default=TARGET / "release" / "plimsoll")
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=lambda text: text.split(","))
    parser.add_argument("--tools", type=lambda text: text.split(","))
    parser.add_argument("--folder", type=Path, help="where files are mapped from: a disk")
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(dir=args.folder))
    os.environ["HOLD_FOLDER"] = str(scratch)
    pages = Path("/proc/sys/vm/nr_hugepages")
    before = pages.read_text() if os.access(pages, os.W_OK) else None
    try:
        if before is not None:
            pages.write_text(str(int(before) + args.mib // 2 + 2))
        sys.exit(table(args, scratch))
    finally:
        if before is not None:
            pages.write_text(before)
        shutil.rmtree(scratch, ignore_errors=True)


def build(scratch):
    """The program and the library; both may exist already, for a machine without a compiler."""
    built, source = Path(os.environ.get("HOLD_BUILT", scratch)), Path(__file__).with_name("hold.c")
    if not (built / "hold").exists():
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O1", "-pthread", "-o", built / "hold", source], check=True)
        subprocess.run([compiler, "-O1", "-pthread", "-shared", "-fPIC", "-o", built / "hold.so", source], check=True)
    return built


def emulation(scratch):
    """The environment in which programs find an emulated GPU; empty if it cannot be built."""
    built = Path(os.environ.get("HOLD_BUILT", scratch))
    for source, library in (("cuda.c", "libcuda.so.1"), ("nvml.c", "libnvidia-ml.so.1")):
        if not (built / library).exists():
            words = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-pthread", f"-Wl,-soname,{library}"]
            subprocess.run([*words, "-o", built / library, ROOT / "tests" / "emulation" / source], check=True)
    return {"LD_LIBRARY_PATH": str(built), "EMULATED_NVML_STATE": str(scratch / "nvml.txt")}


@contextmanager
def own_group():
    """A control group of version 2 beside that of this process, which BenchExec takes if there is no systemd to ask; None
    if none can be made."""
    group = None
    if not Path("/run/systemd/system").exists() and Path("/sys/fs/cgroup/cgroup.controllers").exists():
        own = Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")
        group = (Path("/sys/fs/cgroup") / own).parent / f"benchexec-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            group = None
    try:
        yield group
    finally:
        if group:
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)


def table(args, scratch):
    tools = Tools(args, scratch, build(scratch))
    if tools.absent:
        print(f"not there, and left out: {', '.join(tools.absent)}", file=sys.stderr)
    titles = ["held", "MiB", "plimsoll", "", "cgroup", *tools.peers, "within"]
    widths = [max(len(row[1]) for row in ROWS), 3, 8, 14, 6, *[max(8, len(name)) for name in tools.peers], 10]
    show = lambda cells: print("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |", flush=True)
    show(titles)
    show(["-" * width for width in widths])
    failed = []
    for kind, about, metric, part in ROWS:
        if args.rows and kind not in args.rows:
            continue
        if kind == "gpu" and tools.emulation:
            about += ", emulated"
        mib = max(1, int(args.mib * part))
        truth = mib * MIB
        try:
            own = {column: tools.held(column, kind, mib, metric) for column in ("plimsoll", "cgroup")}
        except Missing as reason:
            show([about, str(mib), "-", f"`{metric}`", "-", *["-" for _ in tools.peers], f"not possible here: {reason}"])
            continue
        peers = {name: tools.held(name, kind, mib, metric) for name in tools.peers}
        off = lambda held: (abs(held.bytes - truth), held.range)
        known, rivals = ([off(held) for held in all.values() if held] for all in (own, peers))
        room = max(truth // 100, MIB)
        nothing = (float("inf"), 0)
        (best, range_), (nearest, rival_range) = min(known, default=nothing), min(rivals, default=nothing)
        if best <= room:
            farther = best > nearest + max(RESOLUTION, range_, rival_range)
            verdict = "**a peer is nearer**" if farther else "yes"
        else:
            verdict = "**no**" if nearest <= room else "nobody"
        if verdict.startswith("*"):
            failed.append(kind)
        shown = lambda held: f"{held.bytes / MIB:.1f}" if held else "-"
        show([about, str(mib), shown(own["plimsoll"]) + tools.mark, f"`{metric}`", shown(own["cgroup"]),
                      *[shown(peers[name]) for name in tools.peers], verdict])
    print("\n`~` sampled, `≥` a lower bound, no mark the kernel's own counter; `-` the tool gives no figure")
    return 1 if failed else 0


class Tools:
    def __init__(self, args, scratch, built):
        self.args, self.scratch, self.built, self.mark = args, scratch, built, ""
        here = Path(sys.executable).parent
        find = lambda name: shutil.which(name) or (str(here / name) if (here / name).exists() else None)
        peers = {"GNU time": find("time"), "BenchExec": find("runexec"), "psrecord": find("psrecord"),
                 "heaptrack": find("heaptrack"), "memray": find("memray")}
        asked = {name: path for name, path in peers.items() if not args.tools or name in args.tools}
        self.absent = [name for name, path in asked.items() if not path]
        self.peers = {name: path for name, path in asked.items() if path}
        if args.tools == ["none"]:
            self.absent = []
        self.base = {}
        self.emulation = {} if Path("/dev/nvidiactl").exists() else emulation(scratch)
        (scratch / "hold.py").write_text(PYTHON)

    def held(self, tool, kind, mib, metric):
        """The tool's figure minus its figure for a program that holds nothing, and its range; None without a figure."""
        if metric in ("peak_swap", "gpu_peak") and tool in self.peers:
            return None  # these report memory before it was swapped out, and none of a GPU
        key = tool, metric if tool in ("plimsoll", "cgroup") else None
        try:
            if key not in self.base:
                # A program that holds nothing on a GPU still has a context there.
                self.base[key] = self.figures(tool, *(("gpu", 0) if metric == "gpu_peak" else ("nothing", 1)), metric)
            figures, base = self.figures(tool, kind, mib, metric), self.base[key]
        except Missing:
            if tool == "plimsoll":
                raise
            return None
        if not figures or not base:
            return None
        return Held(int(median(figures) - median(base)), max(max(part) - min(part) for part in (figures, base)))

    def figures(self, tool, kind, mib, metric):
        """The figures of all runs; none if one run has none. A thousand children are runs enough."""
        figures = []
        for _ in range(1 if kind == "short" else self.args.runs):
            figures.append(self.figure(tool, kind, mib, metric))
            if figures[-1] is None:
                return []
        return figures

    def figure(self, tool, kind, mib, metric):
        command = [str(self.built / "hold"), kind, str(mib), str(self.args.seconds)]
        if tool in ("plimsoll", "cgroup"):
            return self.plimsoll(tool, command, metric)
        return getattr(self, tool.lower().replace(" ", "_"))(self.peers[tool], command)

    def run(self, words, code=0, within=None):
        enter = within and (lambda: (within / "cgroup.procs").write_text(str(os.getpid())))
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.scratch, preexec_fn=enter)
        if done.returncode != code:
            raise Missing(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
        return done

    def plimsoll(self, tool, command, metric):
        record = self.scratch / "record.json"
        if metric == "gpu_peak" and tool == "cgroup":
            return None  # the memory of a GPU is in no control group
        flags = {"cgroup": ["--cgroup"]}.get(tool) or {"peak_pss": ["--pss"], "gpu_peak": ["--gpu"]}.get(metric, [])
        words = [self.args.plimsoll, "run", *flags, "--no-config", "--quiet", "--record", record, "--", *command]
        env = {**os.environ, **self.emulation} if metric == "gpu_peak" else None
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.scratch, env=env)
        if done.returncode == IMPOSSIBLE:
            said = [line for line in done.stderr.splitlines() if line.startswith("hold: ")]
            raise Missing(said[0] if said else "not possible")
        if done.returncode:
            sys.exit(f"{words}: {done.stderr}")
        readings = json.loads(record.read_text())["phases"][0]["readings"]
        if metric == "peak_swap" and readings["swap_growth"]["counter"].startswith("SwapTotal, which is 0"):
            raise Missing("no swap")
        # Without a group of its own, the run's group includes other processes.
        reading = readings.get("peak_cgroup" if tool == "cgroup" and metric != "peak_swap" else metric)
        if tool == "plimsoll":
            source = reading and reading["source"]["kind"]
            self.mark = {"sampled": "~", "lower_bound": "≥"}.get(source, "")
            if metric == "peak_cgroup":
                self.mark = ""
                return None
        elif not reading or "plimsoll-" not in reading["counter"]:
            return None
        return reading and reading["bytes"]

    def gnu_time(self, program, command):
        return int(self.run([program, "-f", "%M", *command]).stderr.split()[-1]) << 10

    def benchexec(self, program, command):
        with own_group() as group:
            done = self.run([program, "--no-container", "--", *command], within=group)
        found = re.search(r"^memory=(\d+)B", done.stdout, re.M)
        if not found:
            raise Missing("no memory")
        return int(found[1])

    def psrecord(self, program, command):
        log = self.scratch / "psrecord.txt"
        self.run([program, " ".join(command), "--include-children", "--interval", "0.01", "--log", log])
        lines = [line.split() for line in log.read_text().splitlines() if line and not line.startswith("#")]
        if not lines:
            raise Missing("no sample")
        return int(max(float(line[2]) for line in lines) * MIB)

    def heaptrack(self, program, command):
        for old in self.scratch.glob("heap.*"):
            old.unlink()
        self.run([program, "--output", self.scratch / "heap", *command])
        written = next(self.scratch.glob("heap.*"), None)
        text = self.run([shutil.which("heaptrack_print"), "--file", written]).stdout if written else ""
        found = re.search(r"peak heap memory consumption: ([\d.]+)([KMG]?)B?", text)
        if not found:
            raise Missing("no peak")
        return int(float(found[1]) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[found[2]])

    def memray(self, program, command):
        trace = self.scratch / "memray.bin"
        trace.unlink(missing_ok=True)
        self.run([program, "run", "--quiet", "--output", trace, self.scratch / "hold.py", self.built / "hold.so", *command[1:]])
        read = "import sys; from memray import FileReader; print(FileReader(sys.argv[1]).metadata.peak_memory)"
        return int(self.run([Path(program).with_name("python"), "-c", read, trace]).stdout)


if __name__ == "__main__":
    main()
