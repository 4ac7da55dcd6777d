#!/usr/bin/env python3
"""Learn the weights in src/diagnose/classify/ from the texts beside this file.

    python3 -m pip install numpy scipy scikit-learn
    python3 tests/diagnose/learn.py [--held-back SET..]

Six questions: is what reads like the message of a failure in a document (document.tsv); are ordinary words of memory that
runs out in a document, or in quiet telemetry (mention.tsv), and what ran out (cause.tsv); are figures that rise steady
work (steady.tsv); do figures of memory say nothing of growth (quiet.tsv), or that a newer version needs more (newer.tsv).
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
ON_A_DEVICE = {"library-alloc-fail", "capacity", "fragmentation", "other-process", "longest-batch", "first-backward",
               "optimizer-step", "optimizer-state", "eval", "eval-accumulation", "single-huge-request", "private-pool"}


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
    "mention": Table("The odds that words about memory running out are not a report", [ANY_FAILURE, NOTHING], 2200, 3),
    "steady": Table("The odds that rising figures are not growth of memory", [GROWTH, NOTHING], 2000, 1),
    "quiet": Table("The odds that figures of memory do not report growth", [GROWTH | {"regression"}, NOTHING], 2000, 3),
    "newer": Table("The odds that memory is more in a newer version, not over time", [GROWTH, {"regression"}], 1000, 3),
    "cause": Table("The odds of each cause: Library, HostAlloc, Limit, Machine, Killed, SharedMemory",
                   [ON_A_DEVICE, {"host-alloc-fail", "host-single-huge-request", "process-cap"}, {"cgroup-kill"},
                    {"host-kill"}, {"sigkill-unattributed"}, {"shm-exhausted"}], 1000, 3),
}
# Words count if the last candidates of LEAST texts have them; weights are in 1/SCALE of the log odds.
LEAST, SCALE = 4, 100
# Words count less than a unit, so that many small signs outweigh one.
STEP = 0.4


def cases(folder):
    """Set, name, first verdict and text of each case of a folder (see corpus.rs for the format)."""
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
                truth[what.strip()] = said.split("|")[0].strip()
            elif name:
                text.append(line)
        if name:
            yield of, name, truth, "\n".join(text)


def logs():
    """As `cases`, the logs with their truths."""
    for path in sorted((FOLDER / "logs").glob("*.log")):
        verdict = json.loads(path.with_suffix(".json").read_text())["verdict"]
        yield "logs", path.stem, {"verdict": verdict}, path.read_text(errors="replace")


def wordings():
    """As `cases`, the examples of the wordings that are known."""
    page = (FOLDER.parents[1] / "docs/wordings.md").read_text()
    for at, (side, block) in enumerate(re.findall(r"^- \*\*[^*]+\*\*, ([^:]+):.*?```text\n(.*?)\n  ```", page, re.M | re.S)):
        # The page breaks lines of 112 characters.
        text = re.sub(r"(?m)^(.{112})\n", r"\1", re.sub(r"(?m)^  ", "", block))
        yield "wordings", f"wording {at}", {"verdict": "none" if side == "nothing" else "event"}, text


def examples(folders):
    """For each table the set, the name, the kind, and the words of each candidate."""
    with tempfile.TemporaryDirectory() as scratch:
        known = {}
        for folder in folders:
            for of, name, truth, text in {"logs": logs, "wordings": wordings}.get(folder.name, lambda: cases(folder))():
                verdict = truth.get("verdict") or ("none" if truth.get("side") == "none" else "event")
                file = f"{len(known)}.txt"
                known[file] = (of, name, verdict)
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
            of, name, verdict = known[file]
            failed = {verdict} | (ANY_FAILURE if verdict not in NOTHING | TRENDS else set())
            for kind, verdicts in enumerate(TABLE[table].kinds):
                if verdicts & failed:
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
        rows = [(",".join(map(str, each)), name) for name, each in sorted(weights.items()) if any(each) or not name]
        lines = [f"# {TABLE[table].of}, as a logarithm in hundredths: tests/diagnose/learn.py."]
        lines += [f"{each}\t{name}" for each, name in rows]
        (TABLES / f"{table}.tsv").write_text("\n".join(lines) + "\n")
        print(f"{table}.tsv: {len(rows)} weights from {len(every)} candidates", file=sys.stderr)


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
