"""The `plimsoll` program of this build, for tests of what is around it."""

import functools
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"))


@functools.lru_cache(maxsize=None)
def program():
    """Its path; it is built where it is not."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--workspace", "--all-features", "--locked"], cwd=ROOT, check=True)
    return os.path.join(TARGET, "debug", "plimsoll")
