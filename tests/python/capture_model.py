"""Captures a small model into FOLDER/store, its embedding alone into FOLDER/one, and saves the entries of the first
with torch.save, as FOLDER/saved/CAPTURE/ENTRY.

usage: capture_model.py FOLDER
"""
import os
import sys

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "harness", "python"), os.path.dirname(os.path.abspath(__file__))]
from plimsoll_capture import Store, capture  # noqa: E402
from test_capture import Transformer  # noqa: E402

folder = sys.argv[1]
torch.manual_seed(0)
model = Transformer()
with capture(f"{folder}/one", ops=["embedding"], max_per_op=3):
    for _ in range(5):
        model(torch.randint(0, 512, (2, 9)))

save = Store.save


def save_twice(store, entry, name, sources=None):
    file = save(store, entry, name, sources)
    os.makedirs(f"{folder}/saved/{name}", exist_ok=True)
    torch.save(entry, f"{folder}/saved/{name}/{file}")
    return file


Store.save = save_twice
with capture(f"{folder}/store"):
    for _ in range(2):
        model(torch.randint(0, 512, (2, 9)))
