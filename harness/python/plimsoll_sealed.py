"""Starts Plimsoll's Python worker: its modules come from read-only memory rather than from a folder.

A kernel can write to every file that its user can. The supervisor therefore passes a sealed memfd with the source of
each module as one JSON object, and runs this with Python's -I, so that no folder precedes Python's own modules.
PYTHONPATH and the user's own packages are searched afterwards as usual, because a kernel or PyTorch may be there.

The caller provides `SOURCES`, file names with their text.
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
    """Finds and loads modules in memory. Tracebacks show their lines, because the loader provides the source."""

    def __init__(self, sources):
        self.sources = sources

    def file(self, name):
        """The module's file name in tracebacks."""
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
    """Adds to the path what -I leaves out, in the usual order: PYTHONPATH first, the user's own packages before all
    others."""
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True
    named = [os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = named
    # In a virtual environment `site` left them out for its own reason.
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
# The modules of Python that these import are loaded before a folder that a kernel may have written to is in the path.
import plimsoll_memory  # noqa: E402, F401
import plimsoll_worker  # noqa: E402

restore_path()
plimsoll_worker.main()
