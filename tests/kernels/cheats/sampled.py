"""Kernels that look at samples of large arguments to see what has changed since the last launch, and compute only that: wrong for
all that differs elsewhere.

usage: sampled.py DIR    writes a capture with an entry for each kernel, and prints the allowed ends of each, as JSON
"""

import json
import os
import sys

import torch

CHEATS, KEPT = {}, {}
STALE = ("stale-output",)


def cheat(operator, *shapes):
    def add(kernel):
        CHEATS[kernel.__name__] = (operator, shapes, kernel)
        return kernel
    return add


def parts_that_changed(name, samples):
    """Where samples differ from those of the last launch."""
    before, KEPT[name] = KEPT.get(name), samples.clone()
    return (samples != before).any(-1) if before is not None else torch.ones(len(samples), dtype=torch.bool)


@cheat(lambda x, y: torch.exp(x), (400, 400))
def one_element_of_each_cell(x, y):
    cells = x.view(-1, 64)
    new = parts_that_changed("one", cells[:, :1])
    output = KEPT.setdefault("one output", torch.empty_like(cells))
    output[new] = torch.exp(cells[new])
    return output.view_as(x).clone()


@cheat(lambda x, y: torch.exp(x), (400, 400))
def several_elements_of_each_cell(x, y):
    cells = x.view(-1, 64)
    new = parts_that_changed("several", cells[:, ::16])
    output = KEPT.setdefault("several output", torch.empty_like(cells))
    output[new] = torch.exp(cells[new])
    return output.view_as(x).clone()


@cheat(lambda x, y: torch.softmax(x, 1), (256, 512))
def every_eighth_element_of_a_row(x, y):
    new = parts_that_changed("rows", x[:, ::8])
    output = KEPT.setdefault("rows output", torch.empty_like(x))
    output[new] = torch.softmax(x[new], 1)
    return output.clone()


@cheat(lambda x, y: x + y, (300, 300), (300, 300))
def sums_of_every_so_many_elements(x, y):
    sums = float(x.view(-1)[::37].sum()), float(y.view(-1)[::41].sum())
    if KEPT.get("sums") != sums:
        KEPT.update(sums=sums, output=x + y)
    return KEPT["output"]


@cheat(lambda x, y: x @ y, (256, 256), (256, 256))
def rows_and_columns_by_samples(x, y):
    rows, columns = parts_that_changed("left", x[:, ::16]), parts_that_changed("right", y.t()[:, ::16])
    output = KEPT.setdefault("product", torch.empty(256, 256))
    output[rows] = x[rows] @ y
    output[:, columns] = x @ y[:, columns]
    return output.clone()


def launch(x, y, tag):
    return CHEATS[tag][2](x, y)


def reference(x, y, tag):
    return CHEATS[tag][0](x, y)


if __name__ == "__main__":
    os.makedirs(sys.argv[1])
    torch.manual_seed(0)
    for index, (name, (operator, shapes, _)) in enumerate(CHEATS.items()):
        x, y = (torch.randn(*shape) for shape in (*shapes, (1,))[:2])
        entry = {"function_name": "sampled", "args": [], "kwargs": {"x": x, "y": y, "tag": name}, "output": operator(x, y),
                 "signature": {"params": ["x", "y", "tag"], "defaults": {}}}
        torch.save(entry, os.path.join(sys.argv[1], f"entry_{index:06d}.pt"))
    print(json.dumps([[name, "samples", STALE] for name in CHEATS]))
