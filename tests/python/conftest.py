"""How `pytest --numprocesses N --dist loadgroup` distributes the tests: one class per process."""

import pytest

from program import program


def pytest_configure(config):
    # Before the processes start, which take the environment over.
    if getattr(config.option, "numprocesses", None):
        program()


def pytest_collection_modifyitems(items):
    for item in items:
        name = f"{item.module.__name__}::{getattr(item.cls, '__name__', '')}"
        item.add_marker(pytest.mark.xdist_group(name))
