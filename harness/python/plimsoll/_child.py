"""The process of one marked test: a fresh pytest that runs it alone. `plimsoll isolate` starts it, for the parent.

At its standard input is a socket to `plimsoll isolate`, which measures between `ready` and `done`: the body of the test,
without its fixtures. What pytest makes of the test is left in a file, line by line, so that it is there whatever becomes
of this process.
"""

import gc
import json
import os
import socket
import sys
import threading

# The code of a process that has nothing to tell, or nobody to tell it to.
LOST = 70
LONGEST_MESSAGE = 1 << 14


class Channel:
    """The way to `plimsoll isolate`."""

    def __init__(self):
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.socket = socket.socket(fileno=os.dup(0))
        # The test finds an empty standard input.
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)

    def tell(self, *words):
        """Sends a message, a line of words between tabs, and waits for the answer."""
        # A fork of the process that gets here has left the test's body by another way.
        if os.getpid() != self.pid:
            os._exit(LOST)
        with self.lock:
            line = "\t".join(word.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") for word in words)
            self.socket.sendall(line.encode(errors="backslashreplace") + b"\n")
            if self.socket.recv(1) != b"\n":
                print("the channel to `plimsoll isolate` is closed", file=sys.stderr)
                os._exit(LOST)

    def phase(self, name):
        """Begins a phase; the phases are those of the process of the test alone."""
        if os.getpid() == self.pid:
            self.tell("Phase", name)


class Child:
    """The plugin of this process."""

    def __init__(self, request, channel, hook):
        self.request = request
        self.channel = channel
        self.hook = hook
        self.outcome = None
        self.reports = open(request["reports"], "w", encoding="utf-8")
        # What the test has printed is not lost with a process that is killed.
        sys.stdout.reconfigure(line_buffering=True)

    def tell(self, **line):
        """Leaves a line for the parent."""
        self.reports.write(json.dumps(line, default=repr) + "\n")
        self.reports.flush()

    def close(self):
        """Closes what the run has opened: what is left open is a warning, which a suite may have as an error."""
        self.reports.close()
        self.channel.socket.close()

    def printed(self):
        """How much was printed on standard output and error."""
        sys.stdout.flush()
        sys.stderr.flush()
        return [os.fstat(1).st_size, os.fstat(2).st_size]

    def configure(self, config):
        """Makes pytest run the one test, and leave the results to the parent."""
        config.workerinput = self.request["workerinput"]
        config.workeroutput = {}
        # A path with a bracket would be taken for the parameters of a test: then all is collected again.
        if "[" not in self.request["path"]:
            config.args = [self.request["path"]]
        # A failed test is run again by the parent, in another process.
        config.pluginmanager.unregister(name="rerunfailures")
        # One test is not chosen by what failed before, and is given to no workers.
        unwanted = {
            "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False, "stepwise_skip": False,
            "numprocesses": None, "maxprocesses": None, "dist": "no", "tx": [], "looponfail": False}
        for option, value in unwanted.items():
            if hasattr(config.option, option):
                setattr(config.option, option, value)

    def select(self, session, items):
        """Leaves the one test."""
        wanted = [item for item in items if item.nodeid == self.request["nodeid"]][:1]
        if not wanted:
            raise self.hook.UsageError(
                f"{self.request['nodeid']} is not found in a process of its own: are the names of its parameters the same "
                "in each?")
        items[:] = wanted

    def prepare(self, item):
        """Has the body measured, and nothing else."""
        runtest = item.runtest

        def body():
            __tracebackhide__ = True
            gc.collect()
            self.channel.tell("Ready")
            outcome = ("Returned",)
            try:
                runtest()
            except BaseException as error:
                outcome = raised(f"{type(error).__name__}: {error}")
                raise
            finally:
                gc.collect()
                self.outcome = outcome
                self.channel.tell("Done", *outcome, "Err", "only the allocator of a Rust program counts it")

        item.runtest = body

    def judge(self, report):
        """Tells what pytest makes of a phase, where that is other than what was told."""
        outcome = self.outcome
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            outcome = raised(crash.message if crash else str(report.longrepr))
        elif report.skipped and hasattr(report, "wasxfail"):
            outcome = ("ExpectedFailure", str(report.wasxfail)[:LONGEST_MESSAGE])
        elif report.skipped:
            outcome = ("Skipped",)
        elif report.when == "call":
            outcome = ("Returned",)
        if outcome != self.outcome:
            self.outcome = outcome
            self.channel.tell("Outcome", *outcome)


def raised(message):
    """The outcome of a body that raised."""
    return ("Raised", message[:LONGEST_MESSAGE])


def hooks(child, pytest):
    """The hooks of the child, which need pytest to be imported."""

    class Hooks:
        @pytest.hookimpl(tryfirst=True)
        def pytest_cmdline_main(self, config):
            child.configure(config)

        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config):
            # The parent has the terminal.
            reporter = config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                config.pluginmanager.unregister(reporter)

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, session, items):
            child.select(session, items)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logstart(self):
            child.tell(begin=child.printed())

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item):
            child.prepare(item)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item):
            outcome = yield
            child.judge(outcome.get_result())

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            data = child.config.hook.pytest_report_to_serializable(config=child.config, report=report)
            child.tell(report=data, end=child.printed())

        def pytest_warning_recorded(self, warning_message, when, location):
            if when == "runtest":
                category = warning_message.category
                child.tell(warning={
                    "message": str(warning_message.message), "module": category.__module__,
                    "category": category.__name__, "filename": warning_message.filename,
                    "lineno": warning_message.lineno, "location": location})

        def pytest_keyboard_interrupt(self, excinfo):
            leaves = isinstance(excinfo.value, pytest.exit.Exception)
            child.tell(interrupted={
                "exit": leaves, "message": str(excinfo.value), "returncode": getattr(excinfo.value, "returncode", None)})

        def pytest_sessionstart(self, session):
            child.config = session.config

    return Hooks()


def main():
    """Runs the test of the request; the name of its file is the only argument."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    channel = Channel()
    # What is printed is there at once, and whatever becomes of this process.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)
    # The folder of this script is none that the tests know.
    sys.path[:] = request["sys_path"]
    import plimsoll
    import pytest
    from plimsoll._parent import CHILD

    plimsoll._channel = channel
    child = Child(request, channel, pytest)
    plugin = hooks(child, pytest)
    plugin.__name__ = CHILD
    try:
        return pytest.main(request["arguments"], plugins=[plugin])
    finally:
        child.close()


if __name__ == "__main__":
    sys.exit(main())
