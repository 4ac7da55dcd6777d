"""Writes the capture of suite.py, with an entry for each named kernel or for all, and prints the allowed ends of each,
as JSON.

usage: suite_capture.py DIR cheats|honest [NAME..]
"""

import json
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402

folder, which, *names = sys.argv[1:]
if which == "tags":
    # A library's kernels: NAME:FAMILY:END,END of each.
    kernels = {name: (None, family, tuple(ends.split(","))) for name, family, ends in (text.split(":") for text in names)}
else:
    kernels = {"cheats": suite.CHEATS, "honest": suite.HONEST}[which]
os.makedirs(folder)
torch.manual_seed(0)
listed = []
for index, (name, (_, family, ends)) in enumerate((name, kernels[name]) for name in names and [n.split(":")[0] for n in names] or kernels):
    x, w, rows = torch.randn(64, 64), torch.randn(64, 64), torch.randint(0, 64, (64,))
    entry = {"function_name": "suite", "args": [], "kwargs": {"x": x, "w": w, "rows": rows, "tag": name},
             "output": suite.right(x, w, rows), "signature": {"params": ["x", "w", "rows", "tag"], "defaults": {}}}
    torch.save(entry, os.path.join(folder, f"entry_{index:06d}.pt"))
    listed.append([name, family, ends])
print(json.dumps(listed))
