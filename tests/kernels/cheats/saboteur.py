"""An embedding that leaves modules for the next worker: in the folder of the command, and wherever a module of the
worker was loaded from."""

import os
import sys

import torch

OWN = "import os\nos._exit(3)\n"
NAMES = ("json", "plimsoll_worker", "plimsoll_rules", "plimsoll_timing", "plimsoll_torch", "plimsoll_stale", "torch",
         "sitecustomize")


def launch(*args):
    folders = {os.getcwd(), os.environ["TMPDIR"]}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if (name.startswith("plimsoll_") and not name.startswith("plimsoll_kernel_")) or name == "__main__":
            folders.add(os.path.dirname(file))
    for folder in folders:
        for name in NAMES:
            if os.path.isdir(folder):
                with open(os.path.join(folder, name + ".py"), "w", encoding="ascii") as file:
                    file.write(OWN)
    return torch.nn.functional.embedding(args[0], args[1])
