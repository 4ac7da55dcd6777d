"""What `pytest --numprocesses N --dist loadscope` needs, which gives each class of tests to one process."""

from program import program


def pytest_configure(config):
    # Before the processes start, which take the environment over.
    if getattr(config.option, "numprocesses", None):
        program()
