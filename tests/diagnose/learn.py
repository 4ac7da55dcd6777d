#!/usr/bin/env python3
"""Learn the weights in src/diagnose/classify/ from the texts beside this file.

    python3 -m pip install numpy scipy scikit-learn
    python3 tests/diagnose/learn.py [--held-back SET..]

Six questions: is what reads like the message of a failure in a document (document.tsv); are ordinary words of memory that
runs out in a document, or in quiet telemetry (mention.tsv), and what ran out (cause.tsv); are figures that rise steady
work (steady.tsv); do figures of memory say nothing of growth (quiet.tsv), and what grew (trend.tsv).
With --held-back nothing is written: it learns from all other sets and prints how it judges these.

What is left to mention.tsv and quiet.tsv depends on document.tsv and steady.tsv as they are built: run it twice.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression

FOLDER = pathlib.Path(__file__).resolve().parent
TABLES = FOLDER.parents[1] / "src/diagnose/classify"
NOTHING = {"not-oom", "report-only", "none", "cache-not-leak"}
GROWTH = {"leak", "host-growth", "residual-growth"}
TRENDS = GROWTH | {"regression", "varies-by-rank", "inconclusive", "near-capacity", "sleep-ineffective"}
ANY_FAILURE = {"any failure"}


class Table(typing.NamedTuple):
    """What a table is of, and the verdicts of each kind. With two kinds, weights speak for the second."""

    of: str
    kinds: list
    # How many words are kept: fewer if the kinds are easy to tell apart.
    kept: int
    # How often a text by a person counts, as these are fewer than logs.
    people: int


TABLE = {
    "document": Table("The odds that a message of a failure is in a document", [ANY_FAILURE, NOTHING], 4000, 1),
    "mention": Table("The odds that words about memory running out are not a report", [ANY_FAILURE, NOTHING], 3000, 3),
    "steady": Table("The odds that rising figures are not growth of memory", [GROWTH, NOTHING], 2000, 1),
    "quiet": Table("The odds that figures of memory do not report growth", [GROWTH | {"regression"}, NOTHING], 2000, 3),
    "cause": Table("The odds of each cause, in the order of spoken.rs",
                   [{"capacity"}, {"library-alloc-fail"}, {"fragmentation"}, {"single-huge-request"}, {"other-process"},
                    {"process-cap"}, {"private-pool"}, {"first-backward"}, {"optimizer-step", "optimizer-state"},
                    {"eval", "eval-accumulation"}, {"longest-batch"}, {"host-alloc-fail", "host-single-huge-request"},
                    {"cgroup-kill"}, {"host-kill"}, {"sigkill-unattributed"}, {"shm-exhausted"}, {"ray-memory-monitor"},
                    {"dataloader-worker-kill"}], 600, 3),
    "trend": Table("The odds of growth of a host, of a device, of a regression, of what stays after a release",
                   [{"growth of a host"}, {"growth of a device"}, {"regression"}, {"residual-growth"}], 800, 3),
}
# Words count if the last candidates of LEAST texts have them; weights are in 1/SCALE of the log odds.
LEAST, SCALE = 4, 100
# Words count less than a unit, so that many small signs outweigh one.
STEP = 0.4


def cases(folder):
    """Set, name, verdicts and sides, and text of each case of a folder (see corpus.rs for the format)."""
    for path in sorted(folder.glob("*.txt")):
        # Each author of people/ is a set.
        of = folder.name if folder.name != "people" else re.sub("reports|mentions", "people", path.stem).replace("steady", "growth")
        name, truth, text, heading = None, {}, [], False
        lines = path.read_text().split("\n")
        for at, line in enumerate(lines):
            begins = line.startswith("=== ") and at + 1 < len(lines) and lines[at + 1].startswith(("verdict:", "side:"))
            if begins:
                if name:
                    yield of, name, truth, "\n".join(text)
                name, truth, text, heading = line[4:].strip(), {}, [], True
            elif heading and line == "---":
                heading = False
            elif heading:
                what, _, said = line.partition(":")
                truth[what.strip()] = [each.strip() for each in said.split("|")]
            elif name:
                text.append(line)
        if name:
            yield of, name, truth, "\n".join(text)


def logs():
    """As `cases`, the logs with their truths."""
    for path in sorted((FOLDER / "logs").glob("*.log")):
        verdict = json.loads(path.with_suffix(".json").read_text())["verdict"]
        yield "logs", path.stem, {"verdict": [verdict]}, path.read_text(errors="replace")


def wordings():
    """As `cases`, the examples of the wordings that are known."""
    page = (FOLDER.parents[1] / "docs/wordings.md").read_text()
    for at, (side, block) in enumerate(re.findall(r"^- \*\*[^*]+\*\*, ([^:]+):.*?```text\n(.*?)\n  ```", page, re.M | re.S)):
        # The page breaks lines of 112 characters.
        text = re.sub(r"(?m)^(.{112})\n", r"\1", re.sub(r"(?m)^  ", "", block))
        yield "wordings", f"wording {at}", {"verdict": ["none" if side == "nothing" else "event"]}, text


def kinds(truth):
    """What a text is an example of: its first verdict, and what follows from all of them."""
    sides = truth.get("side", [""])
    verdicts = truth.get("verdict") or ["none" if sides[0] == "none" else "event"]
    first = verdicts[0]
    if first in ("leak", "host-growth"):
        return {first, "growth of a device" if sides[0] == "device" else "growth of a host"}
    if first in NOTHING | TRENDS:
        return {first}
    # Nothing of a library is said if too little memory may be meant, and a limit of a process on a host is one of many.
    if first == "library-alloc-fail" and "capacity" in verdicts:
        first = "capacity"
    if first == "process-cap" and sides[0] == "host":
        first = "host-alloc-fail"
    return ANY_FAILURE | {first}


def examples(folders):
    """For each table the set, the name, the kind, and the words of each candidate."""
    with tempfile.TemporaryDirectory() as scratch:
        known = {}
        for folder in folders:
            for of, name, truth, text in {"logs": logs, "wordings": wordings}.get(folder.name, lambda: cases(folder))():
                file = f"{len(known)}.txt"
                known[file] = (of, name, kinds(truth))
                pathlib.Path(scratch, file).write_text(text)
        command = ["cargo", "test", "--quiet", "--package", "plimsoll-diagnose", "--lib", "--all-features", "--locked",
                   "prints_the_words", "--", "--ignored", "--nocapture"]
        done = subprocess.run(command, cwd=FOLDER.parents[1], env={**os.environ, "PLIMSOLL_TEXTS": scratch},
                              stdout=subprocess.PIPE, check=True)
    # Lines of a text with the same words around them are one example.
    found = {table: {} for table in TABLE}
    for line in done.stdout.decode().split("\n"):
        if "\x01" in line:
            table, file, *words = line.split("\x01", 1)[1].split("\x02")
            of, name, of_kinds = known[file]
            for kind, verdicts in enumerate(TABLE[table].kinds):
                if verdicts & of_kinds:
                    found[table][of, name, kind, frozenset(words)] = None
    return {table: list(examples) for table, examples in found.items()}


def learn(table, examples):
    """The intercepts and the weights of each of the words kept: one of two kinds, or one for each of more."""
    counted = {}
    for words in {(example[0], example[1]): example[3] for example in examples}.values():
        for word in words:
            counted[word] = counted.get(word, 0) + 1
    names = sorted(word for word, count in counted.items() if count >= LEAST)
    # Each text counts once, however many of its lines read like an event.
    lines = {}
    for example in examples:
        lines[example[:2]] = lines.get(example[:2], 0) + 1

    def counts(of):
        # The example of a wording is sure to be a failure.
        return 3 if of == "wordings" else TABLE[table].people if of.startswith(("people", "growth")) else 1

    share = numpy.array([counts(example[0]) / lines[example[:2]] for example in examples])
    truth = numpy.array([example[2] for example in examples])

    def fit(names):
        at = {name: place for place, name in enumerate(names)}
        rows = [[at[word] for word in example[3] if word in at] for example in examples]
        matrix = sparse.csr_matrix((numpy.full(sum(map(len, rows)), STEP), numpy.concatenate(rows).astype(int),
                                    numpy.cumsum([0, *map(len, rows)])), shape=(len(rows), len(names)))
        model = LogisticRegression(C=1, max_iter=5000).fit(matrix, truth, share)
        return model.intercept_, model.coef_ * STEP

    _, weights = fit(names)
    strength = numpy.abs(weights).max(axis=0)
    names = sorted(names[place] for place in numpy.argsort(-strength, kind="stable")[:TABLE[table].kept])
    intercept, weights = fit(names)
    whole = numpy.rint(numpy.column_stack([intercept, weights]) * SCALE).astype(int).T.tolist()
    return dict(zip(["", *names], whole))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--held-back", nargs="+", default=[], metavar="SET")
    held = set(parser.parse_args().held_back)
    folders = sorted(path for path in FOLDER.iterdir() if path.name.startswith("unseen"))
    folders += [FOLDER / "talk", FOLDER / "siblings", FOLDER / "people", FOLDER / "logs", pathlib.Path("wordings")]
    for table, every in examples(folders).items():
        weights = learn(table, [example for example in every if example[0] not in held])
        if held:
            judge(table, [example for example in every if example[0] in held], weights)
            continue
        # What has the same weights is written behind them.
        alike = {}
        for name, each in sorted(weights.items()):
            if any(each) or not name:
                alike.setdefault(tuple(each), []).append(name)
        lines = [f"# {TABLE[table].of}, as a logarithm in hundredths: tests/diagnose/learn.py."]
        lines += ["\t".join([",".join(map(str, each)), *names]) for each, names in sorted(alike.items())]
        (TABLES / f"{table}.tsv").write_text("\n".join(lines) + "\n")
        print(f"{table}.tsv: {len(weights)} weights from {len(every)} candidates", file=sys.stderr)


def judge(table, held, weights):
    """Print how the held-back examples are judged: a text by the candidate that is the least of its kind."""
    zeros = [0] * len(weights[""])
    sums = [[sum(each) for each in zip(weights[""], *(weights.get(word, zeros) for word in words))] for *_, words in held]
    if len(zeros) > 1:
        right = {(of, name): total.index(max(total)) == kind for (of, name, kind, _), total in zip(held, sums)}
        print(f"{table}: {sum(right.values())} of {len(right)} texts are right")
        return
    for kind in (0, 1):
        odds = {}
        for (of, name, is_kind, _), [total] in zip(held, sums):
            if is_kind == kind:
                odds[of, name] = min(total, odds.get((of, name), total))
        above = {limit: sum(total > limit for total in odds.values()) for limit in (-200, -100, -50, 0, 50, 100, 200)}
        print(f"{'' if kind else 'not '}{table}: {len(odds)} texts; with odds above:", above)
        for total, name in sorted(((total, name) for name, total in odds.items()), reverse=not kind)[:8]:
            print(f"    {total:5} {'/'.join(name)}")


if __name__ == "__main__":
    main()
