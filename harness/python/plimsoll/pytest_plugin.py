"""`@pytest.mark.plimsoll(peak_rss="2 GiB")`: runs each marked test in a process of its own, under ceilings on memory.

The parent, which is the pytest that was started (or an xdist worker), goes through setup, call and teardown of a marked
test like any other, so that skips, -x, reruns and reports are pytest's own. In the setup it runs the test's process;
that process's reports of its three phases then replace the parent's own. The parent raises an error itself only if a
ceiling is broken or the process did not finish.
"""

import pytest

from plimsoll import _parent
from plimsoll._parent import MARK
from plimsoll._server import SERVERS

RUN = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("plimsoll", "ceilings on memory")
    group.addoption(
        "--plimsoll-off", action="store_true",
        help="Run tests marked with plimsoll in this process, without measuring them")
    group.addoption(
        "--plimsoll-default", action="append", default=[], metavar="NAME=VALUE",
        help="Run every test in a process of its own, held to this unless its mark says otherwise, such as "
        "peak_rss='1 GiB'; may be repeated")
    parser.addini(
        "plimsoll", "Ceilings of every test marked with plimsoll that does not give its own: NAME = VALUE, one a line",
        type="linelist", default=[])


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "plimsoll(peak_rss=\"2 GiB\", swap_growth=\"0 B\", timeout=\"60 s\", enforce=True, ..): "
        "run the test in a process of its own and fail it where a ceiling on its memory is broken")


def pytest_report_header(config):
    if _is_off(config):
        return "plimsoll: off, no test is measured"
    return None


def _is_off(config):
    # A debugger needs the test in the process that has the terminal.
    return any(config.getoption(name, False) for name in ("plimsoll_off", "usepdb", "trace"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if not _parent.is_measured(item) or _is_off(item.config) or item.config.pluginmanager.hasplugin(_parent.CHILD):
        return
    run = item.stash[RUN] = _parent.Run(item, list(item.iter_markers(MARK)))
    # The fixtures run in the test's own process.
    item.setup, item.runtest, item.teardown = run.setup, run.call, run.teardown


def pytest_sessionfinish(session):
    servers = session.config.stash.get(SERVERS, None)
    if servers is not None:
        servers.close()


def pytest_terminal_summary(terminalreporter, config):
    servers = config.stash.get(SERVERS, None)
    if servers is not None and config.option.verbose > 0:
        for path, reason in servers.unsafe.items():
            terminalreporter.write_line(f"plimsoll: each test of {path} started an interpreter: {reason}")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    run = item.stash.get(RUN, None)
    if run is not None:
        outcome.force_result(run.report(call, outcome.get_result()))
