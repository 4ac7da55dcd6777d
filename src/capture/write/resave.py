"""Loads every entry of some folders with torch and saves it again under the same name: the bytes must not change."""

import filecmp
import os
import sys
import tempfile

import torch

# The strict loader takes every value of an entry except empty bytes.
torch.serialization.add_safe_globals([bytes])

count = 0
with tempfile.TemporaryDirectory() as again:
    for folder in sys.argv[1:]:
        for name in sorted(os.listdir(folder)):
            file, copy = os.path.join(folder, name), os.path.join(again, name)
            for mapped in (False, True):
                entry = torch.load(file, weights_only=True, mmap=mapped)
                torch.save(entry, copy)
                if not filecmp.cmp(file, copy, shallow=False):
                    sys.exit(f"{file}: torch writes different bytes (mapped: {mapped})")
            if entry["function_name"] == "torch.nn.functional.embedding":
                rows = torch.nn.functional.embedding(**entry["kwargs"])
                if not torch.equal(rows, entry["output"]):
                    sys.exit(f"{file}: the output differs from torch's look-up")
            os.remove(copy)
            count += 1
print(f"{count} files are what torch writes")
