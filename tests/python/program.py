"""The `plimsoll` program of this build, for tests of the tools around it."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"))
# The copy that the first process of a run has made for all.
COPY = "PLIMSOLL_TESTS_PROGRAM"


@functools.lru_cache(maxsize=None)
def program():
    """The path of a copy of it, built with all features, because tests of archives and wheels rebuild it with
    others."""
    if COPY not in os.environ:
        subprocess.run(
            ["cargo", "build", "--quiet", "--workspace", "--all-features", "--locked"], cwd=ROOT, check=True)
        folder = tempfile.mkdtemp(prefix="plimsoll-program-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[COPY] = shutil.copy2(os.path.join(TARGET, "debug", "plimsoll"), folder)
    return os.environ[COPY]
