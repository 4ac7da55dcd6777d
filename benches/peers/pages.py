#!/usr/bin/env python3
"""How long pages of large records take to write, and to open in a headless Chromium until the first frame is drawn.

usage: benches/peers/pages.py [--plimsoll PROGRAM] [--rounds 5]

The records are made from one real run: 10,000 samples of its timeline, 500 processes, 1,000 repeats, and a history of
1,000 commits. Times are medians of the rounds, with the largest beside them. Use a release build, and PLIMSOLL_CHROMIUM
if Chromium has another name.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
sys.path.insert(0, str(ROOT / "tests" / "python"))
import browser  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=TARGET / "release" / "plimsoll")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    program = browser.installed() or sys.exit("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder, browser.Browser(program) as chromium:
        cases = Cases(Path(folder), arguments.plimsoll)
        print("| page of | size | written in | opens in | at most |\n| --- | --: | --: | --: | --: |")
        for name, write in cases.all():
            page = Path(folder) / "page.html"
            begun = time.perf_counter()
            subprocess.run([*map(str, write), "--html", str(page)], check=True, stdout=subprocess.DEVNULL)
            written = (time.perf_counter() - begun) * 1e3
            times = [chromium.open(page, width=width) for width in (400, 1600) for _ in range(arguments.rounds)]
            assert not chromium.problems(), chromium.problems()
            size = page.stat().st_size / 1e3
            print(f"| {name} | {size:,.0f} kB | {written:.0f} ms | {statistics.median(times):.0f} ms | {max(times):.0f} ms |", flush=True)


class Cases:
    def __init__(self, folder, plimsoll):
        self.folder, self.plimsoll = folder, plimsoll
        path = folder / "made.json"
        run = [plimsoll, "run", "--repeat", "2", "--peak-rss", "1GiB", "--record", path, "--", sys.executable, "-c", "import time; time.sleep(.1)"]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        self.made = json.loads(path.read_text())

    def all(self):
        one = {**self.made, "runs": []}
        yield "10,000 samples", self.report(self.with_samples(one, 10_000))
        yield "500 processes", self.report(self.with_processes(one, 500))
        yield "10,000 samples and 500 processes", self.report(self.with_processes(self.with_samples(one, 10_000), 500))
        yield "1,000 repeats", self.report({**self.made, "runs": [self.run(at) for at in range(1000)]})
        yield "a history of 1,000 commits", self.history(1000)

    def report(self, record):
        path = self.folder / "record.json"
        path.write_text(json.dumps(record))
        return [self.plimsoll, "report", path]

    def with_samples(self, record, count):
        phase = record["phases"][0]
        sample = {**phase["timeline"][-1], "largest": [{"pid": pid, "rss": pid << 20} for pid in (3, 4)]}
        timeline = [{**sample, "at_ns": at * 10_000_000, "rss": (16 << 20) + at * 350_003 % (96 << 20)} for at in range(count)]
        return {**record, "phases": [{**phase, "wall_ns": count * 10_000_000, "timeline": timeline}]}

    def with_processes(self, record, count):
        phase = record["phases"][0]
        process = phase["processes"][0]
        processes = [{**process, "pid": at + 1, "name": f"worker {at}"} for at in range(count)]
        return {**record, "phases": [{**phase, "processes": processes}]}

    def run(self, at):
        run = json.loads(json.dumps(self.made["runs"][0]))
        run["phases"][0]["readings"]["peak_rss"]["bytes"] += at * 37 % 101 * 4096
        return run

    def history(self, commits):
        path = self.folder / "commit.json"
        history = ["--history", self.folder / "history.sqlite"]
        for at in range(commits):
            path.write_text(json.dumps({**self.made, "runs": [self.run(at + repeat * 7 + (at > commits // 2) * 101) for repeat in range(3)]}))
            add = [self.plimsoll, "history", "add", path, *history, "--commit", f"{at:040x}", "--branch", "main"]
            subprocess.run(add, check=True, stderr=subprocess.DEVNULL)
        return [self.plimsoll, "history", "show", *history, "--last", "1000"]


if __name__ == "__main__":
    main()
