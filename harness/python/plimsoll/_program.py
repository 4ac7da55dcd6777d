"""Where the `plimsoll` program is."""

import os
import shutil
import sysconfig


class NoProgram(Exception):
    """There is no program `plimsoll`."""


def program():
    """The `plimsoll` program: the one that `PLIMSOLL` names, else the one installed with this package, else that of the path."""
    beside = os.path.join(sysconfig.get_path("scripts"), "plimsoll")
    found = os.environ.get("PLIMSOLL") or (beside if os.access(beside, os.X_OK) else shutil.which("plimsoll"))
    if found is None:
        raise NoProgram(f"there is no program `plimsoll`, neither as {beside} nor on the path")
    return found
