#!/usr/bin/env python3
"""Learn the weights in src/diagnose/classify/ from the texts beside this file.

    python3 -m pip install numpy scipy scikit-learn
    python3 tests/diagnose/learn.py [--held-back SET..]

Three questions: is what reads like the message of a failure in a document (document.tsv); are ordinary words of memory
that runs out in a document, or in quiet telemetry (mention.tsv); are figures that rise steady work (steady.tsv). With
--held-back nothing is written: it learns from all other sets and prints how it judges these.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression

FOLDER = pathlib.Path(__file__).resolve().parent
TABLES = FOLDER.parents[1] / "src/diagnose/classify"
NOTHING = {"not-oom", "report-only", "none", "cache-not-leak"}
GROWTH = {"leak", "host-growth", "residual-growth"}
OTHERS = GROWTH | {"regression", "varies-by-rank", "inconclusive", "near-capacity", "sleep-ineffective"}
# Of each table: what it is of, and what speaks against it.
TABLE = {
    "document": ("that a message of a failure is in a document", lambda verdict: verdict not in NOTHING | OTHERS),
    "mention": ("that words about memory running out are not a report", lambda verdict: verdict not in NOTHING | OTHERS),
    "steady": ("that rising figures are not growth of memory", lambda verdict: verdict in GROWTH),
}
# Words count if the last candidates of LEAST texts have them; KEPT are kept; weights are in 1/SCALE of the log odds.
LEAST, KEPT, SCALE = 4, 2000, 100
# Words count less than a unit, so that many small signs outweigh one.
STEP = 0.3


def cases(folder):
    """Name, first verdict and text of each case of a folder (see corpus.rs for the format)."""
    for path in sorted(folder.glob("*.txt")):
        name, truth, text, heading = None, {}, [], False
        lines = path.read_text().split("\n")
        for at, line in enumerate(lines):
            begins = line.startswith("=== ") and at + 1 < len(lines) and lines[at + 1].startswith(("verdict:", "side:"))
            if begins:
                if name:
                    yield name, truth, "\n".join(text)
                name, truth, text, heading = line[4:].strip(), {}, [], True
            elif heading and line == "---":
                heading = False
            elif heading:
                what, _, said = line.partition(":")
                truth[what.strip()] = said.split("|")[0].strip()
            elif name:
                text.append(line)
        if name:
            yield name, truth, "\n".join(text)


def logs():
    """As `cases`, the logs with their truths."""
    for path in sorted((FOLDER / "logs").glob("*.log")):
        verdict = json.loads(path.with_suffix(".json").read_text())["verdict"]
        yield path.stem, {"verdict": verdict}, path.read_text(errors="replace")


def wordings():
    """As `cases`, the examples of the wordings that are known."""
    page = (FOLDER.parents[1] / "docs/wordings.md").read_text()
    for at, (side, block) in enumerate(re.findall(r"^- \*\*[^*]+\*\*, ([^:]+):.*?```text\n(.*?)\n  ```", page, re.M | re.S)):
        # The page breaks lines of 112 characters.
        text = re.sub(r"(?m)^(.{112})\n", r"\1", re.sub(r"(?m)^  ", "", block))
        yield f"wording {at}", {"verdict": "none" if side == "nothing" else "event"}, text


def examples(folders):
    """For each table the set, the name, whether the text is one of its kind, and the words of each candidate."""
    with tempfile.TemporaryDirectory() as scratch:
        known = {}
        for folder in folders:
            for name, truth, text in {"logs": logs, "wordings": wordings}.get(folder.name, lambda: cases(folder))():
                verdict = truth.get("verdict") or ("none" if truth.get("side") == "none" else "event")
                file = f"{len(known)}.txt"
                known[file] = (folder.name, name, verdict)
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
            against = TABLE[table][1](verdict)
            if against or verdict in NOTHING:
                found[table][of, name, not against, frozenset(words)] = None
    return {table: list(examples) for table, examples in found.items()}


def learn(examples):
    """The intercept and the weight of each of the words kept."""
    counted = {}
    for words in {(example[0], example[1]): example[3] for example in examples}.values():
        for word in words:
            counted[word] = counted.get(word, 0) + 1
    names = sorted(word for word, count in counted.items() if count >= LEAST)
    # Each text counts once, however many of its lines read like an event.
    lines = {}
    for example in examples:
        lines[example[:2]] = lines.get(example[:2], 0) + 1
    # The example of a wording is sure to be a failure.
    share = numpy.array([(3 if example[0] == "wordings" else 1) / lines[example[:2]] for example in examples])
    truth = numpy.array([example[2] for example in examples])

    def fit(names):
        at = {name: place for place, name in enumerate(names)}
        rows = [[at[word] for word in example[3] if word in at] for example in examples]
        matrix = sparse.csr_matrix((numpy.full(sum(map(len, rows)), STEP), numpy.concatenate(rows).astype(int),
                                    numpy.cumsum([0, *map(len, rows)])), shape=(len(rows), len(names)))
        model = LogisticRegression(C=1, max_iter=5000).fit(matrix, truth, share)
        return model.intercept_[0], model.coef_[0] * STEP

    _, weights = fit(names)
    kept = sorted(names[place] for place in numpy.argsort(-numpy.abs(weights), kind="stable")[:KEPT])
    intercept, weights = fit(kept)
    return round(intercept * SCALE), {name: round(weight * SCALE) for name, weight in zip(kept, weights)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--held-back", nargs="+", default=[], metavar="SET")
    held = set(parser.parse_args().held_back)
    folders = sorted(path for path in FOLDER.iterdir() if path.name.startswith("unseen"))
    folders += [FOLDER / "talk", FOLDER / "siblings", FOLDER / "people", FOLDER / "logs", pathlib.Path("wordings")]
    for table, every in examples(folders).items():
        intercept, weights = learn([example for example in every if example[0] not in held])
        if held:
            judge(table, [example for example in every if example[0] in held], intercept, weights)
            continue
        lines = [f"{intercept}\t"] + [f"{weight}\t{name}" for name, weight in sorted(weights.items()) if weight]
        what = f"# The odds {TABLE[table][0]}, as a logarithm in hundredths: tests/diagnose/learn.py."
        (TABLES / f"{table}.tsv").write_text("\n".join([what, *lines]) + "\n")
        print(f"{table}.tsv: {len(lines)} weights from {len(every)} candidates", file=sys.stderr)


def judge(table, held, intercept, weights):
    """Print how the held-back examples are judged: a text by the candidate that is the least of its kind."""
    for kind in (False, True):
        odds = {}
        for of, name, is_kind, words in held:
            if is_kind == kind:
                total = intercept + sum(weights.get(word, 0) for word in words)
                odds[of, name] = min(total, odds.get((of, name), total))
        above = {limit: sum(total > limit for total in odds.values()) for limit in (-200, -100, -50, 0, 50, 100, 200)}
        print(f"{'' if kind else 'not '}{table}: {len(odds)} texts; with odds above:", above)
        for total, name in sorted(((total, name) for name, total in odds.items()), reverse=not kind)[:8]:
            print(f"    {total:5} {'/'.join(name)}")


if __name__ == "__main__":
    main()
