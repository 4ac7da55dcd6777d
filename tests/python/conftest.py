"""How `pytest --numprocesses N --dist loadgroup` shares out the tests: a class to one process, and all tests that start the
`plimsoll` program to the same one, for some of them build it again."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        name = "program" if hasattr(item.module, "program") else f"{item.module.__name__}::{getattr(item.cls, '__name__', '')}"
        item.add_marker(pytest.mark.xdist_group(name))
