"""Ceilings on memory in Python tests. The pytest plugin is in `plimsoll.pytest_plugin`, the `plimsoll` program beside it."""

from plimsoll._memory import log_memory

__all__ = ["CeilingBroken", "ProcessDied", "log_memory", "phase"]

# The test process's connection to its parent; None everywhere else.
_channel = None


def phase(name):
    """Begins a phase of the running test and ends the previous one. Does nothing without a measurement."""
    if _channel is not None:
        _channel.phase(str(name))


def __getattr__(name):
    # The classes need pytest, which a program that only names its phases may lack.
    if name in ("CeilingBroken", "ProcessDied"):
        from plimsoll import _parent

        return getattr(_parent, name)
    raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
