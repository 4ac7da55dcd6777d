"""The `plimsoll` program of this build, for tests of the tools around it."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"))


@functools.lru_cache(maxsize=None)
def program():
    """The path of a copy of it, built with all features, because tests of archives and wheels rebuild it with
    others."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--workspace", "--all-features", "--locked"], cwd=ROOT, check=True)
    folder = tempfile.mkdtemp(prefix="plimsoll-program-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copy2(os.path.join(TARGET, "debug", "plimsoll"), folder)
