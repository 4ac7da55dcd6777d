#!/usr/bin/env python3
"""How well the steps of histories are found, compared with other tools: on real histories that people annotated, and on
synthetic ones.

usage: benches/peers/history.py DATA --annotations STUDY [--part develop|held|all]

DATA is a checkout of SAP's performance-regression-data-set (https://github.com/SAP/performance-regression-data-set,
CC-BY-4.0): times of tests of SAP HANA, of which each build's median is a point. Its small set has 5 histories with the
commit that made them slower, and 20 without a regression: spikes, alternating levels, large scatter.

STUDY is a checkout of the annotations of Costa and others, "Evaluating Change Point Detection Methods for Software
Performance Regression Analysis" (https://github.com/mtucci/changepoint-performance-regression-study). At least four
people annotated each of the 396 histories used here, which are those of SAP HANA that are not synthetic or shuffled.
The study has no licence, so this program reads the annotations and the project has no copy of them.

`develop` is the half of the histories on which the detector was tuned, chosen by the hash of the test's number; `held`
was scored once for each detector in docs/gate.md, when it was finished.

F1, precision and recall are those of the Turing Change Point Benchmark (van den Burg and Williams 2020): a place counts
if it is within 5 points of a mark, with precision against the marks of all annotators and recall as the mean over
them. Peers that cannot be imported are left out: pip install apache-otava ruptures signal-processing-algorithms
"""
import argparse, csv, hashlib, json, math, random, statistics, subprocess, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--annotations", type=Path, metavar="STUDY", required=True)
    parser.add_argument("--part", choices=["develop", "held", "all"], default="develop")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = peers(Path(folder))
        hana = args.data / "hana"
        marked = list(annotated(hana, args.annotations, args.part))
        known = list(small(hana))
        print(f"{len(marked)} annotated histories ({args.part}) of {statistics.median(len(series) for series, _ in marked):.0f} builds, "
              f"{sum(mark is None for _, mark in known)} quiet ones and {sum(mark is not None for _, mark in known)} regressions\n")
        print("| method | F1 | precision | recall | steps without a mark | exact marks | alarms on the quiet | regressions | s a history |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for name, find in tools.items():
            print(f"| {name} | " + " | ".join(judged(find, marked, known)) + " |", flush=True)
        print("\n| method | outliers and a step | jump out of a creep | doubling known after | s for 800 | 10,000 | 100,000 |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for name, find in list(tools.items())[:-1]:
            print(f"| {name} | " + " | ".join(made(find)) + " |", flush=True)


def annotated(hana, study, part):
    """Each history of a part with the marks of every annotator."""
    files = {path.name[:5]: path for path in (hana / "large_2022" / "data").glob("*.csv")}
    for name, readings in sorted(json.loads((study / "rq3" / "annotations.json").read_text()).items()):
        if not name.startswith("sap_") or "_syn" in name or "_shuf" in name or len(readings) < 4:
            continue
        number, *of = name.split("_")[1:]
        number = number.zfill(5)
        developed = int(hashlib.sha256(number.encode()).hexdigest()[0], 16) % 2 == 1
        if part == "all" or (part == "develop") == developed:
            # The study divided long histories.
            ends = {"split1": (0, 800), "split2": (750, None)}.get(of[-1] if of else None, (0, None))
            yield medians(files[number])[slice(*ends)], list(readings.values())


def medians(path):
    builds = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            builds.setdefault(int(row["sut_version"]), []).append(float(row["value"]))
    return [statistics.median(builds[build]) for build in sorted(builds)]


def small(hana):
    """Each history with the first index of its regression, if it has one."""
    with open(hana / "small_2021" / "metadata" / "dataset_details.csv", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            with open(hana / "small_2021" / "data" / row["Dataset"], newline="") as series:
                rows = list(csv.DictReader(series, fieldnames=["index", "build", "value"]))[1:]
            last = int(row["Change Point"])
            first = next((at for at, point in enumerate(rows) if int(point["index"]) > last), None)
            yield [float(point["value"]) for point in rows], first if row["Type"].strip() == "regression" else None


def matched(marks, places, margin=5):
    left, found = set(places), 0
    for mark in sorted(marks):
        near = [(abs(mark - place), place) for place in left if abs(mark - place) <= margin]
        if near:
            left.remove(min(near)[1])
            found += 1
    return found


def f1(readings, places):
    """The start of a series counts as a place that everybody finds."""
    readings, places = [{0, *reading} for reading in readings], {0, *places}
    precision = matched(set().union(*readings), places) / len(places)
    recall = statistics.mean(matched(reading, places) / len(reading) for reading in readings)
    return 2 * precision * recall / (precision + recall), precision, recall


def judged(find, marked, known):
    found, seconds = find([series for series, _ in marked])
    scores = [f1(readings, places) for (_, readings), places in zip(marked, found)]
    of_none = sum(len(places) - matched(set().union(*map(set, readings)), places) for (_, readings), places in zip(marked, found))
    # Marks in all readings that are found: how many at exactly the right build?
    clear = [(mark, places) for (_, readings), places in zip(marked, found) for mark in set.intersection(*map(set, readings))]
    near = [(mark, places) for mark, places in clear if any(abs(mark - place) <= 5 for place in places)]
    exact = sum(mark in places for mark, places in near)
    places, _ = find([series for series, _ in known])
    alarms = sum(mark is None and bool(found) for (_, mark), found in zip(known, places))
    right = sum(mark is not None and any(abs(mark - place) <= 1 for place in found) for (_, mark), found in zip(known, places))
    return ([f"{statistics.mean(scores):.3f}" for scores in zip(*scores)]
            + [str(of_none), f"{exact} of {len(near)}", str(alarms), f"{right} of 5", f"{seconds / len(marked):.4f}"])


def noise(lots, count):
    return [100 * (1 + lots.gauss(0, 0.01)) for _ in range(count)]


def made(find):
    lots = random.Random(7)

    def outliers():
        series = [value * (1.1 if at >= 20 else 1) for at, value in enumerate(noise(lots, 40))]
        for at in lots.sample(range(40), 3):
            series[at] *= lots.uniform(1.5, 5)
        return series

    def held(series, at, margin):
        return sum(any(abs(place - at) <= margin for place in places) for places in find(series)[0])

    creep = [[value * (1 + at / 1000) * (1.2 if at >= 40 else 1) for at, value in enumerate(noise(lots, 80))] for _ in range(50)]
    late = next((str(fresh) for fresh in range(1, 25) if held([noise(lots, 40) + [2 * value for value in noise(lots, fresh)] for _ in range(20)], 40, 0) >= 19), "-")
    seconds = []
    for count in [800, 10_000, 100_000]:
        seconds.append("-" if seconds and (seconds[-1] == "-" or float(seconds[-1]) > 5) else f"{find([noise(lots, count)])[1]:.4f}")
    return [f"{held([outliers() for _ in range(40)], 20, 2)} of 40", f"{held(creep, 40, 0)} of 50", late, *seconds]


def peers(folder):
    return {"plimsoll": plimsoll(folder), **dict(others()), "no steps at all": lambda histories: ([[] for _ in histories], 0.0)}


def plimsoll(folder):
    """The package has no dependency, so the compiler alone builds it."""
    rustc = ["rustc", "-O", "--edition", "2024", "--out-dir", folder]
    subprocess.run([*rustc, "--crate-name", "plimsoll_statistics", "--crate-type", "rlib", ROOT / "src/statistics/lib.rs"], check=True)
    subprocess.run([*rustc, "--extern", f"plimsoll_statistics={folder}/libplimsoll_statistics.rlib", ROOT / "benches/peers/steps.rs"], check=True)

    def find(histories):
        text = "".join(" ".join(map(repr, map(float, series))) + "\n" for series in histories)
        lines = subprocess.run([folder / "steps"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
        words = [line.split() for line in lines]
        return [[int(place) for place in line[1:]] for line in words], sum(float(line[0]) for line in words)

    return find


def timed(of):
    def find(histories):
        began = time.perf_counter()
        return [of(series) for series in histories], time.perf_counter() - began

    return find


def others():
    yield "Perfherder's rule", timed(perfherder)
    try:
        from otava.analysis import compute_change_points

        for name, p in [("Otava", 1e-3), ("Otava, p 1e-6", 1e-6)]:
            yield name, timed(lambda series, p=p: [change.index for change in compute_change_points(series, max_pvalue=p)[0]])
    except ImportError as error:
        print(f"without Otava: {error}")
    try:
        import numpy, ruptures

        yield "ruptures, rbf, pen 10", timed(lambda series: ruptures.KernelCPD(kernel="rbf").fit(numpy.array(series)).predict(pen=10)[:-1])
    except ImportError as error:
        print(f"without ruptures: {error}")
    try:
        from signal_processing_algorithms.energy_statistics import energy_statistics

        yield "MongoDB's e_divisive, p .01", timed(lambda series: energy_statistics.e_divisive(series, pvalue=0.01, permutations=100))
    except ImportError as error:
        print(f"without signal-processing-algorithms: {error}")


def perfherder(series, before=(12, 24), after=12, threshold=7.0, share=0.02):
    """A t-test of the 12 to 24 points before a place and the 12 from it on, with nearer points weighing more: a step is
    where t is above 7 and larger than nearby, and the change is 2 percent."""

    def weighed(points):
        weights = [(len(points) - at) / (len(points) + 1) for at in range(len(points))]
        mean = sum(map(float.__mul__, weights, points)) / sum(weights)
        return mean, sum(weight * (point - mean) ** 2 for weight, point in zip(weights, points)) / sum(weights)

    scores = [(0.0, 0.0)] * len(series)
    for at in range(before[0], len(series)):
        left, right = series[max(0, at - before[1]):at][::-1], series[at:at + after]
        if len(right) < 3:
            continue
        (old, spread), (new, other) = weighed(left), weighed(right)
        error = math.sqrt(spread / len(left) + other / len(right))
        t = 0.0 if old == new else abs(new - old) / error if error else math.inf
        scores[at] = (t, abs(new - old) / abs(old) if old else math.inf)
    t = [score[0] for score in scores] + [0.0]
    return [at for at, (score, change) in enumerate(scores) if score > threshold and change >= share and t[at - 1] <= score >= t[at + 1]]


if __name__ == "__main__":
    main()
