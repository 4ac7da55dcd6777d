"""How the Python worker of Plimsoll starts: its modules come from memory that nobody can write to, and not from a folder.

A kernel can write to every file that its user can. The supervisor hands over a sealed memfd with the source of each module, as one
JSON object, and runs this in a Python that was started with -I, so that no folder comes before the modules of Python itself. What
PYTHONPATH names, and the user's own packages, are looked for afterwards as ever: a kernel or PyTorch may lie there.

`SOURCES`, file names and their text, is given by whoever runs this.
"""

import fcntl  # noqa: F401
import importlib.abc
import importlib.machinery
import importlib.util
import itertools  # noqa: F401
import math  # noqa: F401
import os
import site
import sys
import traceback  # noqa: F401


class Sealed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads modules in memory. Tracebacks have their lines, for these have a loader that gives the source."""

    def __init__(self, sources):
        self.sources = sources

    def file(self, name):
        """What stands for the module's file in tracebacks."""
        return f"<plimsoll>/{name}.py"

    def find_spec(self, name, path=None, target=None):
        if f"{name}.py" not in self.sources:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=self.file(name))
        spec.has_location = True
        return spec

    def get_source(self, name):
        return self.sources[f"{name}.py"]

    def get_code(self, name):
        return compile(self.get_source(name), self.file(name), "exec", dont_inherit=True)


def restore_path():
    """What -I leaves out of the path, at its usual places: PYTHONPATH first, the user's own packages before all others."""
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True
    named = [os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = named
    # In a virtual environment `site` has left them out for a reason of its own.
    if sys.flags.no_site or sys.prefix != sys.base_prefix or os.environ.get("PYTHONNOUSERSITE"):
        return
    folder = site.getusersitepackages()
    if os.path.isdir(folder):
        before = list(sys.path)
        site.addsitedir(folder)
        added = [entry for entry in sys.path if entry not in before]
        at = next((i for i, entry in enumerate(before) if entry in site.getsitepackages()), len(before))
        sys.path[:] = before[:at] + added + before[at:]


sys.meta_path.insert(0, Sealed(SOURCES))  # noqa: F821
# What these import of Python's own is loaded before a folder that a kernel may have written to is in the path.
import plimsoll_memory  # noqa: E402, F401
import plimsoll_worker  # noqa: E402

restore_path()
plimsoll_worker.main()
