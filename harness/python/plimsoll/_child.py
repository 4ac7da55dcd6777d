"""The process of one marked test: a pytest that runs it alone, started by `plimsoll isolate` for the parent, or forked
by a pytest that has collected the tests of its file (`_fork.py`).

A socket connects it to `plimsoll isolate`, which measures between `ready` and `done`: the body of the test, without its
fixtures. pytest's results are written to a file line by line, so that they survive whatever happens to this process.
"""

import gc
import json
import os
import socket
import sys
import threading

# The exit code of a process without a test to run or a parent to report to.
LOST = 70
LONGEST_MESSAGE = 1 << 14


class Channel:
    """The connection to `plimsoll isolate`."""

    def __init__(self, connection):
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.socket = connection

    def send(self, *words):
        """Sends a message and waits for the answer."""
        # A forked copy of the process that gets here must not report.
        if os.getpid() != self.pid:
            os._exit(LOST)
        with self.lock:
            line = "\t".join(word.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") for word in words)
            self.socket.sendall(line.encode(errors="backslashreplace") + b"\n")
            self.wait()

    def wait(self):
        """Waits until `plimsoll isolate` lets this process go on."""
        if self.socket.recv(1) != b"\n":
            print("the channel to `plimsoll isolate` is closed", file=sys.stderr)
            os._exit(LOST)

    def phase(self, name):
        """Begins a phase; only the test's own process has phases."""
        if os.getpid() == self.pid:
            self.send("Phase", name)


class Child:
    """The plugin of this process."""

    def __init__(self, request, hook):
        self.request = request
        self.hook = hook
        self.outcome = self.channel = self.reports = None
        # What forks the processes of tests, in a process that runs none itself.
        self.fork = None
        # The test's output must not be lost if the process is killed.
        sys.stdout.reconfigure(line_buffering=True)

    def begin(self, connection):
        """Makes this process the one of the requested test."""
        import plimsoll

        self.channel = plimsoll._channel = Channel(connection)
        self.reports = open(self.request["reports"], "w", encoding="utf-8")

    def serve(self, session):
        """Forks the processes of tests until no more are asked for; returns False in such a process."""
        forked = self.fork(session)
        if forked is None:
            return True
        request, connection = forked
        self.fork = None
        self.request.update(request)
        self.begin(connection)
        self.channel.wait()
        self.select(session.items)
        return False

    def write(self, **line):
        """Writes a line for the parent."""
        self.reports.write(json.dumps(line, default=repr) + "\n")
        self.reports.flush()

    def close(self):
        """Closes the files of the run, because an open file is a warning, which a suite may treat as an error."""
        if self.channel is not None:
            self.reports.close()
            self.channel.socket.close()

    def printed(self):
        """How much was printed on standard output and error."""
        sys.stdout.flush()
        sys.stderr.flush()
        return [os.fstat(1).st_size, os.fstat(2).st_size]

    def configure(self, config):
        """Makes pytest run this one test, and leave the results to the parent."""
        config.workerinput = self.request["workerinput"]
        config.workeroutput = {}
        # A bracket in the path would be parsed as test parameters; in that case everything is collected again.
        if "[" not in self.request["path"]:
            config.args = [self.request["path"]]
        # The parent reruns a failed test in another process.
        config.pluginmanager.unregister(name="rerunfailures")
        # A single test is neither selected by earlier failures nor distributed to workers.
        unwanted = {
            "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False, "stepwise_skip": False,
            "numprocesses": None, "maxprocesses": None, "dist": "no", "tx": [], "looponfail": False}
        for option, value in unwanted.items():
            if hasattr(config.option, option):
                setattr(config.option, option, value)

    def select(self, items):
        """Selects the one test."""
        wanted = [item for item in items if item.nodeid == self.request["nodeid"]][:1]
        if not wanted:
            raise self.hook.UsageError(
                f"{self.request['nodeid']} is not found in a process of its own: are the names of its parameters the same "
                "in each?")
        items[:] = wanted

    def prepare(self, item):
        """Makes the body measured, and nothing else."""
        runtest = item.runtest

        def body():
            __tracebackhide__ = True
            gc.collect()
            self.channel.send("Ready")
            outcome = ("Returned",)
            try:
                runtest()
            except BaseException as error:
                outcome = raised(f"{type(error).__name__}: {error}")
                raise
            finally:
                gc.collect()
                self.outcome = outcome
                self.channel.send("Done", *outcome, "Err", "only the allocator of a Rust program counts it")

        item.runtest = body

    def judge(self, report):
        """Reports pytest's verdict on a phase if it differs from what was reported."""
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
            self.channel.send("Outcome", *outcome)


def raised(message):
    """The outcome of a body that raised."""
    return ("Raised", message[:LONGEST_MESSAGE])


def hooks(child, pytest):
    """The hooks of the child, defined here because they need pytest."""

    class Hooks:
        @pytest.hookimpl(tryfirst=True)
        def pytest_cmdline_main(self, config):
            child.configure(config)

        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config):
            # The terminal belongs to the parent.
            reporter = config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                config.pluginmanager.unregister(reporter)

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, session, items):
            if child.fork is None:
                child.select(items)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            return True if child.fork is not None and child.serve(session) else None

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logstart(self):
            child.write(begin=child.printed())

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
            child.write(report=data, end=child.printed())

        def pytest_warning_recorded(self, warning_message, when, location):
            if when == "runtest":
                category = warning_message.category
                child.write(warning={
                    "message": str(warning_message.message), "module": category.__module__,
                    "category": category.__name__, "filename": warning_message.filename,
                    "lineno": warning_message.lineno, "location": location})

        def pytest_keyboard_interrupt(self, excinfo):
            leaves = isinstance(excinfo.value, pytest.exit.Exception)
            child.write(interrupted={
                "exit": leaves, "message": str(excinfo.value), "returncode": getattr(excinfo.value, "returncode", None)})

        def pytest_sessionstart(self, session):
            child.config = session.config

    return Hooks()


def main():
    """Runs the requested test; the only argument is the name of the request file."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    connection = socket.socket(fileno=os.dup(0))
    # The test sees an empty standard input.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # Output is written at once, whatever happens to the process.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)
    # The folder of this script must not be visible to the tests.
    sys.path[:] = request["sys_path"]
    import pytest
    from plimsoll._parent import CHILD

    child = Child(request, pytest)
    if "nodeid" in request:
        child.begin(connection)
    else:
        from plimsoll._fork import server

        child.fork = server(connection, LOST)
    plugin = hooks(child, pytest)
    plugin.__name__ = CHILD
    try:
        return pytest.main(request["arguments"], plugins=[plugin])
    finally:
        child.close()


if __name__ == "__main__":
    sys.exit(main())
