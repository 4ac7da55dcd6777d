#!/usr/bin/env python3
"""How often the gate is wrong on real programs: comparisons of equals, and of 2, 5 and 10 percent more.

usage: benches/peers/programs.py [--plimsoll PROGRAM] [--comparisons 200] [--growths 2,5,10] [--found 50] [--runs 10]
                                 [--only sort,python,sqlite,node,java,postgres] [--scale 1] [--keep FOLDER]

Each program does the same work in every run, but its memory varies: a parallel sort by how its threads overlap, Python
by randomly drawn sizes, SQLite by its rows, Node.js and a JVM by when their collectors run, a PostgreSQL server by how
the sorts of its four clients overlap. All are from Debian. Blocks
of runs are metered by `plimsoll run --repeat`; neighbouring blocks are compared by `plimsoll gate`, at its default
limit, at limits of the figures that show each growth, and on processor time. A false failure is a comparison of equals
that exits with 1. Growth is relative to what the program holds beyond its usage without data. Blocks of equals and of
each growth alternate, so that a busy machine is the same for all. A program that is not installed is left out. Use a
release build.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PYTHON = """
import os, random
share = float(os.environ["SHARE"])
held, total = [], 0
while total < share * 60e6:
    size = random.choice([200, 5_000, 80_000, 700_000])
    held.append(bytearray(random.randrange(size // 2, size)))
    total += len(held[-1])
    if random.random() < 0.3:
        total -= len(held.pop(random.randrange(len(held))))
"""
NODE = """
const share = Number(process.env.SHARE), held = [];
for (let i = 0; i < share * 60; i++) {
  held.push(Array.from({length: 4000 + Math.random() * 4000}, () => Math.random()));
  for (let j = 0; j < 20; j++) Array.from({length: 100}, () => ({j}));
}
for (let total = 0; total < share * 40e6;) {
  const one = Buffer.alloc(1e5 + Math.random() * 9e5, 1);
  total += one.length; held.push(one);
}
"""
JAVA = """
import java.util.*;
public class Load {
    public static void main(String[] words) {
        double share = Double.parseDouble(System.getenv("SHARE"));
        Random random = new Random();
        List<byte[]> held = new ArrayList<>();
        for (long total = 0; total < share * 50e6;) {
            byte[] one = new byte[1000 + random.nextInt(200_000)];
            Arrays.fill(one, (byte) 1);
            if (random.nextInt(3) > 0) { held.add(one); total += one.length; }
        }
        System.out.println(held.size());
    }
}
"""
SQLITE = """PRAGMA cache_size = -1000000; PRAGMA temp_store = memory; CREATE TABLE t (a INTEGER, b BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO t SELECT random(), randomblob(600 + abs(random() % 800)) FROM n; CREATE INDEX i ON t (a);
SELECT count(*) FROM t WHERE a > 0;"""
# A server of its own, without a port: four clients sort rows at once, and a fast shutdown ends it.
POSTGRES = """#!/bin/sh
set -eu
rm -f postmaster.pid
"$1/postgres" -D data -k "$PWD" -c listen_addresses= -c shared_buffers=16MB -c work_mem=64MB -c max_parallel_workers=0 \\
    -c fsync=off -c autovacuum=off > server.log 2>&1 &
server=$!
until "$1/pg_isready" -q -h "$PWD"; do kill -0 $server; sleep 0.02; done
for client in 1 2 3 4; do
    for query in 1 2 3 4 5 6; do
        echo "SELECT count(*) FROM (SELECT random() AS r, md5(i::text) FROM
            generate_series(1, ($SHARE * (28000 + 4000 * random()))::int) AS i ORDER BY r) AS s;"
    done | "$1/psql" -q -h "$PWD" postgres > /dev/null &
    clients="${clients-} $!"
done
wait $clients
kill -INT $server
wait $server
"""
# The limit for each growth is half of it; the default detects growth well above 5 %.
DEFAULT, TIME = "default (5% | 4 MiB)", "cpu_time=5%"


def programs(folder):
    """The programs that are installed, each with what prepares a share of it and its command."""
    def lines(share):
        path = folder / f"lines-{share:.6f}"
        if not path.exists():
            rows = (f"{(at * 2654435761) % 2**32:010d} {'x' * 60}\n" for at in range(int(share * 300_000)))
            path.write_text("".join(rows))
        return ["sort", "--parallel=4", "--buffer-size=1G", "--output=/dev/null", str(path)]
    def sqlite(share):
        path = folder / f"rows-{share:.6f}.sql"
        path.write_text(SQLITE.format(rows=max(1, int(share * 40_000))))
        return ["sqlite3", "-batch", ":memory:", f".read {path}"]
    def java(share):
        if not (folder / "Load.class").exists():
            (folder / "Load.java").write_text(JAVA)
            subprocess.run(["javac", "Load.java"], cwd=folder, check=True)
        return ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", str(folder), "Load"]
    def postgres(share):
        # A server refuses to run as root.
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        binaries = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
        home = folder / "postgres"
        if not home.exists():
            folder.chmod(0o755)
            home.mkdir()
            (home / "load.sh").write_text(POSTGRES)
            if user:
                shutil.chown(home, 65534, 65534)
            create = ["initdb", "--auth=trust", "--no-sync", "--username=postgres", "-D", home / "data"]
            subprocess.run([*user, "env", f"PATH={binaries}:/usr/bin:/bin", *create], check=True, stdout=subprocess.DEVNULL)
        return [*user, "env", "-C", str(home), "PGUSER=postgres", "sh", "load.sh", binaries]
    all = {
        "sort": lines,
        "python": lambda share: [sys.executable, "-c", PYTHON],
        "sqlite": sqlite,
        "node": lambda share: ["node", "-e", NODE],
        "java": java,
        "postgres": postgres,
    }
    names = {"python": sys.executable, "sqlite": "sqlite3", "java": "javac", "postgres": "pg_config"}
    return {name: make for name, make in all.items() if shutil.which(names.get(name, name))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=TARGET / "release" / "plimsoll")
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--found", type=int, default=50, help="comparisons of each growth")
    parser.add_argument("--growths", type=lambda text: [float(one) for one in text.split(",")], default=[2, 5, 10])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--scale", type=float, default=1, help="of the sizes: less takes less time")
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--keep", type=Path, help="keep the records here, and go on from those that are there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, make in programs(folder).items():
            if args.only is None or name in args.only:
                measure(args, folder, args.keep or folder / "records", name, make)


def measure(args, folder, keep, name, make):
    began = time.time()
    places = keep / name
    places.mkdir(parents=True, exist_ok=True)
    def block(share, which, runs=args.runs):
        path = places / f"{which}.json"
        if not path.exists():
            command = [args.plimsoll, "run", "--no-config", "--quiet", "--repeat", str(runs), "--label", name]
            command += ["--record", path, "--", *make(share * args.scale)]
            environment = {**os.environ, "SHARE": str(share * args.scale)}
            run = subprocess.run(command, env=environment, capture_output=True, text=True)
            if run.returncode:
                sys.exit(f"{name}: {run.stderr}")
        return path
    peaks = lambda path: [max(phase["readings"]["peak_rss"]["bytes"] for phase in run["phases"])
                          for run in json.loads(path.read_text())["runs"]]
    typical = {share: statistics.median(peaks(block(share, f"typical-{share}"))) for share in (0.0, 1.0)}
    def grown(growth):
        return 1 + growth / 100 / (1 - typical[0.0] / typical[1.0])
    equals, more = [], {growth: [] for growth in args.growths}
    before = block(1.0, "equals")
    for number in range(args.comparisons):
        now = block(1.0, f"equals-{number}")
        equals.append([before, now])
        for growth in args.growths if number < args.found else []:
            more[growth].append([now, block(grown(growth), f"more-{growth:g}-{number}")])
        before = now
    scatter = [statistics.stdev(runs) / statistics.mean(runs) for runs in (peaks(now) for _, now in equals)]
    print(f"\n{name}: {typical[1.0] / 2**20:.0f} MiB, scatter {statistics.mean(scatter):.1%}, {args.runs} runs a side, "
          f"{time.time() - began:.0f} s\n")
    heads = "".join(f" {growth:g} % more |" for growth in args.growths)
    print(f"| limit | equals that failed | undecided |{heads}\n|---|--:|--:|{'--:|' * len(args.growths)}")
    for limit in [DEFAULT, *(f"peak_rss={growth / 2:g}%" for growth in args.growths), TIME]:
        outcomes = [judge(args, pair, limit) for pair in equals]
        failed, untold = outcomes.count(1), outcomes.count(3)
        found = [f"{sum(judge(args, pair, limit) == 1 for pair in pairs)} of {len(pairs)}" for pairs in more.values()]
        print(f"| `{limit}` | {failed} of {len(equals)} | {untold} | {' | '.join(found)} |", flush=True)


def judge(args, pair, limit):
    before, now = pair
    command = [args.plimsoll, "gate", "--no-config", now, "--baseline", before, "--allow", "semantics"]
    if limit == TIME:
        # For a limit on time only: this limit on memory cannot fail.
        command += ["--limit", "peak_rss=1000%"]
    if limit != DEFAULT:
        command += ["--limit", limit]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(map(str, command))}: {run.stderr}")
    return run.returncode


if __name__ == "__main__":
    main()
