"""Finds the `plimsoll` program."""

import os
import shutil
import sysconfig


class NoProgram(Exception):
    """The program `plimsoll` was not found."""


def program():
    """The `plimsoll` program: the one that `PLIMSOLL` names, otherwise the one installed with this package, otherwise
    from the path."""
    beside = os.path.join(sysconfig.get_path("scripts"), "plimsoll")
    found = os.environ.get("PLIMSOLL") or (beside if os.access(beside, os.X_OK) else shutil.which("plimsoll"))
    if found is None:
        raise NoProgram(f"there is no program `plimsoll`, neither as {beside} nor on the path")
    return found
