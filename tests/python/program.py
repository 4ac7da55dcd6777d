"""The `plimsoll` program of this build, for tests of the tools around it."""

import functools
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"))
# What the Rust tests have built (harness/test.sh): with other packages or features, cargo would build nearly all of it again.
AS_TESTED = ["--workspace", "--exclude", "plimsoll-torch", "--all-features"]


@functools.lru_cache(maxsize=None)
def program():
    """The path of it."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", *AS_TESTED], cwd=ROOT, check=True)
    return os.path.join(TARGET, "debug", "plimsoll")
