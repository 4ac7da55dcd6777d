#!/usr/bin/env python3
"""The cost of shards and of merging as captures grow: the figures of docs/scale.md.

Usage: benches/scale.py PLIMSOLL [merge | shards | entries | bytes ..]     (all if nothing is named; a Python with blake3)

`merge` measures time and memory of merging records of shards, compared with Python's json reading the same files. The
others simulate a cluster on this host: the share of shard 1, the largest, runs alone, as its node would run it, and all
shards of a run take as long. Times are processor times. Opening the whole capture, which a shard does before its first
launch, is measured by `plimsoll shard`.
"""

import json
import os
import subprocess
import sys
import tempfile

import blake3

PROGRAM = os.path.abspath(sys.argv[1])
# The bar of this page: the maximum MiB for 1,000 shards of a capture of 5,000 entries.
LIMIT_MIB = 64


def measured(*words):
    """The processor seconds of a command, and the peak MiB of its process tree. Other programs affect wall time, but
    hardly these.

    The system's value for a child's largest resident set includes this process's, from before the child's exec:
    `plimsoll run` counts from the first instruction of the program.
    """
    with tempfile.NamedTemporaryFile(suffix=".json") as record:
        metered = [PROGRAM, "run", "--quiet", "--record", record.name, "--", *words]
        done = subprocess.run(metered, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stdout.decode()}")
        with open(record.name) as file:
            found = json.load(file)
    peak = max(phase["readings"]["peak_rss"]["bytes"] for phase in found["phases"])
    spent = sum(phase["activity"][kind] for phase in found["phases"] for kind in ("cpu_user_ns", "cpu_system_ns"))
    return spent / 1e9, peak / 2**20


def generate(folder, entries, vocab=64, dim=8):
    capture = os.path.join(folder, f"cap-{entries}-{vocab}-{dim}")
    if not os.path.exists(capture):
        flags = ["--preset", "embedding", "--vocab", str(vocab), "--dim", str(dim), "--seq", "4", "--entries", str(entries)]
        measured(PROGRAM, "generate", capture, *flags)
    return capture


def check(capture, record, *flags):
    kernel = ["--kernel", "builtin:embedding", "--warmup", "0", "--launches", "1", "--record", record]
    return measured(PROGRAM, "check", capture, *kernel, *flags)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def deal(capture, whole, count, folder):
    """Splits the record `whole` into one record per shard, as each run would have written it."""
    shown = subprocess.run(
        [PROGRAM, "shard", capture, "--shard", f"1/{count}", "--json"], stdout=subprocess.PIPE, check=True
    )
    dealt = json.loads(shown.stdout)["capture"]
    places = {entry["name"]: at for at, entry in enumerate(whole["semantics"]["entries"])}
    paths = []
    for share in dealt["shares"]:
        own = [places[name] for name in share["entries"]]
        record = dict(whole, environment=dict(whole["environment"], hostname=f"node-{share['index']}"))
        record["semantics"] = dict(whole["semantics"], entries=[whole["semantics"]["entries"][at] for at in own])
        results = [dict(whole["results"]["entries"][at], index=index) for index, at in enumerate(own)]
        record["results"] = dict(whole["results"], entries=results)
        # A short run has fewer points.
        points = max(1, 300 * len(own) // len(places))
        record["phases"] = [dict(phase, timeline=phase.get("timeline", [])[:points]) for phase in whole["phases"]]
        record["semantics_digest"] = "blake3:" + blake3.blake3(canonical(record["semantics"]).encode()).hexdigest()
        record["shard"] = {
            "index": share["index"],
            "count": count,
            "capture": {"manifest": dealt["manifest"], "entries": dealt["entries"], "bytes": dealt["bytes"]},
            "entries": len(own),
            "places": own,
            "bytes": share["bytes"],
        }
        paths.append(os.path.join(folder, f"{share['index']}.json"))
        with open(paths[-1], "w") as file:
            json.dump(record, file)
    return paths


def merge(scratch):
    print("| shards | entries | records | merge | peak RSS | json of Python | its peak RSS |\n|---|---|---|---|---|---|---|")
    for count, entries in [(10, 5_000), (100, 5_000), (1_000, 5_000), (1_000, 25_000)]:
        capture = generate(scratch, entries)
        record = os.path.join(scratch, f"whole-{entries}.json")
        if not os.path.exists(record):
            check(capture, record)
        with open(record) as file:
            whole = json.load(file)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            paths = deal(capture, whole, count, folder)
            size = sum(os.path.getsize(path) for path in paths) / 2**20
            out = os.path.join(scratch, "merged.json")
            took, peak = measured(PROGRAM, "merge", folder, "--out", out)
            with open(out) as file:
                assert json.load(file)["semantics_digest"] == whole["semantics_digest"]
            reader = "import json, sys; whole = [json.load(open(path)) for path in sys.argv[1:]]"
            beside, most = measured(sys.executable, "-c", reader, *paths)
        print(f"| {count:,} | {entries:,} | {size:.0f} MiB | {took:.2f} s | {peak:.0f} MiB | {beside:.2f} s | {most:.0f} MiB |")
        if (count, entries) == (1_000, 5_000) and peak > LIMIT_MIB:
            sys.exit(f"{peak:.0f} MiB are more than {LIMIT_MIB} MiB")


def one(capture, count, scratch):
    """Opening the capture, and the largest share."""
    opened, _ = measured(PROGRAM, "shard", capture, "--shard", f"1/{count}")
    took, peak = check(capture, os.path.join(scratch, "shard.json"), "--shard", f"1/{count}")
    return opened, took, peak


def shards(scratch, entries=4_096):
    capture = generate(scratch, entries)
    print("| shards | opening | one shard | of one shard's | peak RSS |\n|---|---|---|---|---|")
    whole = None
    for count in (1, 2, 4, 8, 16, 32, 64):
        opened, took, peak = one(capture, count, scratch)
        whole = whole or took
        print(f"| {count} | {opened:.2f} s | {took:.2f} s | {whole / took:.1f} x | {peak:.0f} MiB |")


def entries(scratch):
    print("| entries | opening | whole | one of 8 shards | peak RSS |\n|---|---|---|---|---|")
    for number in (10, 100, 1_000, 10_000, 50_000):
        capture = generate(scratch, number)
        whole = f"{check(capture, os.path.join(scratch, 'w.json'))[0]:.2f} s" if number <= 10_000 else "not run"
        opened, took, peak = one(capture, 8, scratch)
        print(f"| {number:,} | {opened:.2f} s | {whole} | {took:.2f} s | {peak:.0f} MiB |")


def bytes_(scratch):
    print("| bytes an entry | capture | opening | whole | one of 8 shards |\n|---|---|---|---|---|")
    for vocab in (1 << 10, 1 << 14, 1 << 18):
        capture = generate(scratch, 16, vocab, 64)
        size = sum(item.stat().st_size for item in os.scandir(capture)) / 2**20
        # The built-in kernel reads only the rows that it looks up; a digest of every byte reads all.
        whole, _ = check(capture, os.path.join(scratch, "w.json"), "--digest", "full")
        opened, _ = measured(PROGRAM, "shard", capture, "--shard", "1/8")
        took, _ = check(capture, os.path.join(scratch, "s.json"), "--shard", "1/8", "--digest", "full")
        print(f"| {size / 16:.1f} MiB | {size:.0f} MiB | {opened:.2f} s | {whole:.2f} s | {took:.2f} s |")


def main():
    parts = {"merge": merge, "shards": shards, "entries": entries, "bytes": bytes_}
    with tempfile.TemporaryDirectory() as scratch:
        for name in sys.argv[2:] or parts:
            print(f"\n{name}, on {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}:\n")
            parts[name](scratch)


main()
