"""Ceilings on memory in Python tests. The pytest plugin is in `plimsoll.pytest_plugin`, the `plimsoll` program beside it."""

from plimsoll._memory import log_memory

__all__ = ["CeilingBroken", "ProcessDied", "log_memory", "phase"]

# Where the process of a marked test tells its parent; None everywhere else.
_channel = None


def phase(name):
    """Begins a phase of the test that runs, and ends the one before. Does nothing where nothing is measured."""
    if _channel is not None:
        _channel.phase(str(name))


def __getattr__(name):
    # The classes need pytest, which a program that only names its phases need not have.
    if name in ("CeilingBroken", "ProcessDied"):
        from plimsoll import _parent

        return getattr(_parent, name)
    raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
