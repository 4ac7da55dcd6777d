"""How `pytest --numprocesses N --dist loadgroup` distributes the tests: one class per process, and all tests that start
the `plimsoll` program in the same one, because some of them rebuild it."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        name = "program" if hasattr(item.module, "program") else f"{item.module.__name__}::{getattr(item.cls, '__name__', '')}"
        item.add_marker(pytest.mark.xdist_group(name))
