"""The parent of a marked test: makes `plimsoll isolate` run the test's process, and reports the result to pytest."""

import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import warnings

import pytest

from plimsoll._program import NoProgram, program
from plimsoll._server import STARTS, Server, servers

MARK = "plimsoll"
# The name of the plugin that marks the test's own process.
CHILD = "plimsoll_child"
# The environment variable that names the test of a process.
RUNS = "PLIMSOLL_PYTEST"
PHASES = ("setup", "call", "teardown")
TIMES = ("timeout", "sample_interval")
COUNTS = ("allocations", "reallocations")
# The argument that asks for an interpreter of the test's own.
FORK = "fork"


class CeilingBroken(pytest.fail.Exception):
    """A ceiling of a test is broken, or could not be measured."""

    # Shown by its bare name, like pytest's own outcomes.
    __module__ = "builtins"


class ProcessDied(pytest.fail.Exception):
    """The process of a test did not finish."""

    __module__ = "builtins"


class MarkError(pytest.fail.Exception):
    """A mark is invalid, which never counts as an expected failure."""

    __module__ = "builtins"

    def __init__(self, item, errors):
        super().__init__(f"@pytest.mark.plimsoll of {item.nodeid}: {'; '.join(errors)}", pytrace=False)


def is_measured(item):
    """Whether a test runs in a process of its own."""
    return any(item.iter_markers(MARK)) or bool(item.config.getoption("plimsoll_default"))


class Run:
    """One run of a test."""

    def __init__(self, item, marks):
        self.item = item
        self.marks = marks
        self.reports = {}
        self.others = []
        self.answer = None

    def setup(self):
        """Runs the test's process, from its own setup to its teardown."""
        # Whatever another plugin does in the test's process, it must not start itself recursively.
        if os.environ.get(RUNS) == self._identity():
            raise MarkError(self.item, ["it runs in a process of its own already, which another plugin has shared out"])
        arguments = self._arguments()
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            output = None if self.item.config.option.capture == "no" else _Output(folder)
            try:
                lines = self._run(arguments, folder, output)
                self._take(lines, output)
            finally:
                if output is not None:
                    output.close()
        if self.answer is None:
            raise ProcessDied(f"{self.item.name}: `plimsoll isolate` gave no answer{self._said()}", pytrace=False)
        if self.answer["judgement"] == "refused":
            raise MarkError(self.item, self.answer["errors"])
        self._demand("setup")

    def call(self):
        """Fails the test if its process died in it, or if a ceiling is broken."""
        self._demand("call")
        if self.answer["judgement"] == "failed" and "teardown" in self.reports:
            # The summary shows one line of this: the figures, not the name of the test, which it shows already.
            message = self.answer["message"]
            name = f"{self.item.nodeid.partition('::')[2]}: "
            raise CeilingBroken(message[len(name):] if message.startswith(name) else message, pytrace=False)

    def teardown(self):
        """Fails the teardown if the process died in it."""
        # An earlier death has been reported.
        if "setup" in self.reports and ("call" in self.reports or not self.reports["setup"].passed):
            self._demand("teardown")

    def report(self, call, own):
        """The report of a phase: the process's own, unless an error was raised here."""
        for report in self.others if own.when == "call" else ():
            self.item.ihook.pytest_runtest_logreport(report=report)
        if call.excinfo is not None and isinstance(call.excinfo.value, MarkError):
            own.outcome = "failed"
            vars(own).pop("wasxfail", None)
        theirs = self.reports.get(own.when)
        if theirs is None:
            own.sections.extend(self.sections.get(own.when, []) if own.failed and self.answer else [])
            return own
        if call.excinfo is None:
            return theirs
        if isinstance(call.excinfo.value, CeilingBroken):
            own.sections, own.duration = theirs.sections, theirs.duration
            own.user_properties = theirs.user_properties
            if theirs.failed:
                own.longrepr = _both(theirs.longrepr, self.answer["message"])
        return own

    def _identity(self):
        return f"{self.item.config.rootpath}::{self.item.nodeid}"

    def _arguments(self):
        """The limits of the test: from its own mark, those of its class and module, the command line, then the ini
        file."""
        arguments = {}
        for mark in self.marks:
            if mark.args:
                given = repr(mark.args[0])
                raise MarkError(self.item, [f"write {given} with the name of what it limits, such as peak_rss={given}"])
            for name, value in mark.kwargs.items():
                arguments.setdefault(name, _text(name, value))
        config = self.item.config
        lines = [(line, "--plimsoll-default") for line in config.getoption("plimsoll_default")]
        lines += [(line, f"the option `plimsoll` of {config.inipath}") for line in config.getini("plimsoll")]
        for line, where in lines:
            name, found, value = line.partition("=")
            if not found:
                raise MarkError(self.item, [f"`{line}` in {where} is no limit: write NAME = VALUE"])
            arguments.setdefault(name.strip(), value.strip().strip("\"'"))
        return arguments

    def _run(self, arguments, folder, output):
        """Runs the process and returns the lines that it wrote."""
        files = {name: os.path.join(folder, name) for name in ("reports", "answer")}
        suite, _, name = self.item.nodeid.partition("::")
        forks = _truth(arguments.pop(FORK, "true"), self.item)
        isolate = [
            _program(), "isolate", "--package", self.item.config.rootpath.name, "--suite", suite, "--name", name or suite,
            "--answer", files["answer"], *(f"--argument={name}={value}" for name, value in arguments.items())]
        if not (forks and self._fork(isolate, files, output, arguments)):
            self._start(isolate, files, folder, output)
        if os.path.exists(files["answer"]):
            with open(files["answer"], encoding="utf-8") as file:
                self.answer = json.load(file)
        if not os.path.exists(files["reports"]):
            return []
        with open(files["reports"], encoding="utf-8") as file:
            # A process that died may have written half a line.
            return [json.loads(line) for line in file if line.endswith("\n")]

    def _start(self, isolate, files, folder, output):
        """Runs the test in an interpreter of its own."""
        name = os.path.join(folder, "request")
        with open(name, "w", encoding="utf-8") as file:
            json.dump({**self._request(folder), "nodeid": self.item.nodeid, "reports": files["reports"]}, file, default=repr)
        streams = {} if output is None else {"stdout": output.files[0], "stderr": output.files[1]}
        process = subprocess.Popen(
            [*isolate, "--", *_child(), name], cwd=self.item.config.invocation_params.dir,
            env={**os.environ, RUNS: self._identity()}, stdin=subprocess.DEVNULL, **streams)
        try:
            process.wait()
        finally:
            # Interrupted, or stopped by a plugin's timeout: the test and all its processes are cancelled.
            if process.poll() is None:
                process.terminate()
                process.wait()

    def _fork(self, isolate, files, output, arguments):
        """Runs the test in a fork of a process that has collected its file; returns whether that was possible."""
        config, item = self.item.config, self.item
        found = servers(item.session, is_measured)
        # Other processes count for this one.
        if "available_floor" in arguments:
            found.close()
            return False
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        setup = (environment, list(sys.path))
        try:
            server = found.of(str(item.path), setup, lambda: Server(
                str(item.path), setup, self._request, _child(), config.invocation_params.dir, output is not None),
                STARTS if "timeout" in arguments else None)
            if server is None or not server.run({
                    "nodeid": item.nodeid, "reports": files["reports"], "command": isolate, "names": RUNS,
                    "identity": self._identity(), "streams": output and [file.name for file in output.files]}):
                return False
        except BaseException:
            # Interrupted, or stopped by a plugin's timeout: the test and all its processes are cancelled.
            found.close()
            raise
        reason = _declined(files["answer"])
        if reason is None:
            return True
        found.give_up(reason)
        os.remove(files["answer"])
        return False

    def _request(self, folder):
        config = self.item.config
        arguments = [str(argument) for argument in config.invocation_params.args]
        ours = ["--capture=no", f"--basetemp={os.path.join(folder, 'tmp')}"]
        # Tracing every line changes memory use, and the results file belongs to the parent.
        ours += ["--no-cov"] if hasattr(config.option, "no_cov") else []
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return {
            "arguments": arguments[:end] + ours + arguments[end:], "path": str(self.item.path), "sys_path": sys.path,
            "workerinput": _worker_input(config)}

    def _take(self, lines, output):
        """Sorts the reports of the process."""
        config, begun, at, printed = self.item.config, {}, 0, []
        self.sections = {}
        for line in lines:
            if "begin" in line:
                at = line["begin"]
            elif "warning" in line:
                _warn(self.item, line["warning"])
            elif "interrupted" in line:
                _interrupt(line["interrupted"])
            else:
                report = config.hook.pytest_report_from_serializable(config=config, data=_tuples(line["report"]))
                if type(report) is not pytest.TestReport or report.outcome not in ("passed", "failed", "skipped"):
                    self.others.append(report)
                    continue
                begun[report.when] = (at, line["end"])
                at = line["end"]
                self.reports[report.when] = report
        if output is None:
            return
        for when in PHASES:
            start, end = begun.get(when, (at, None))
            printed = printed + output.sections(when, start, end)
            if when in self.reports:
                self.reports[when].sections[:0] = printed
            else:
                self.sections[when] = printed
                break

    def _demand(self, when):
        """Raises an error if the process did not finish a phase."""
        if when not in self.reports:
            message = self.answer.get("message", f"{self.item.name}: its process reported nothing about its {when}")
            raise ProcessDied(message, pytrace=False)

    def _said(self):
        said = [text for _, text in self.sections.get("setup", [])]
        return "".join(f"\n{text}" for text in said)


class _Output:
    """The output of the process, in files, so that it survives whatever happens to the process."""

    def __init__(self, folder):
        self.files = [open(os.path.join(folder, name), "w+b") for name in ("stdout", "stderr")]

    def close(self):
        """Closes the files, because an open file is a warning, which a suite may treat as an error."""
        for file in self.files:
            file.close()

    def sections(self, when, start, end):
        """The output of a phase, as the sections of a report."""
        sections = []
        for at, (name, file) in enumerate(zip(("stdout", "stderr"), self.files)):
            first, last = (0, None) if start == 0 else (start[at], None if end is None else end[at])
            file.seek(first)
            text = file.read(-1 if last is None else last - first).decode("utf-8", "replace")
            if text:
                sections.append((f"Captured {name} {when}", text))
        return sections


def _worker_input(config):
    """Makes the process look like a worker of xdist, so that plugins leave results files to the main process.

    Plugins are asked for the values that they expect in a worker, as xdist asks them.
    """
    if hasattr(config, "workerinput"):
        return config.workerinput
    found = {"workerid": "master", "workercount": 1, "testrunuid": "plimsoll"}
    if hasattr(config.option, "randomly_seed"):
        found["randomly_seed"] = config.option.randomly_seed
    if hasattr(config.hook, "pytest_configure_node"):
        gateway = types.SimpleNamespace(id="master", spec=types.SimpleNamespace(popen=True, chdir=None))
        try:
            config.hook.pytest_configure_node(node=types.SimpleNamespace(config=config, workerinput=found, gateway=gateway))
        except AttributeError:
            # A plugin that needs more of a node than this provides goes without.
            pass
    return found


def _both(longrepr, message):
    """The failure of a test that also broke a ceiling."""
    if hasattr(longrepr, "addsection"):
        longrepr.addsection("plimsoll", message)
        return longrepr
    return f"{longrepr}\n{message}"


def _text(name, value):
    """A value of a mark in the form that `plimsoll` parses; a time is text, a number of seconds, or a timedelta."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if name in TIMES and isinstance(value, (int, float)) and math.isfinite(value):
        return f"{round(value * 1e9)}ns"
    # A number means bytes, as in Rust; text has its unit.
    if isinstance(value, int) and name not in COUNTS:
        return f"{value} B"
    return str(value)


def _child():
    """The command of a pytest that runs marked tests."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_child.py")
    return [sys.executable, *subprocess._args_from_interpreter_flags(), script]


def _declined(answer):
    """Why a fork could not be measured like a process of its own, if so."""
    if not os.path.exists(answer):
        return None
    with open(answer, encoding="utf-8") as file:
        return json.load(file).get("reason")


def _truth(text, item):
    if text not in ("true", "false"):
        raise MarkError(item, [f"{FORK}: `{text}` is neither true nor false"])
    return text == "true"


def _program():
    try:
        return program()
    except NoProgram as error:
        raise pytest.UsageError(str(error)) from None


def _tuples(data):
    """The report as pytest created it, because JSON has only lists."""
    data["location"] = tuple(data["location"])
    data["sections"] = [tuple(section) for section in data["sections"]]
    data["user_properties"] = [tuple(pair) for pair in data["user_properties"]]
    if isinstance(data["longrepr"], list):
        data["longrepr"] = tuple(data["longrepr"])
    return data


def _warn(item, warning):
    """Passes on a warning of the process, so that it appears in the summary."""
    category = getattr(sys.modules.get(warning["module"]), warning["category"], Warning)
    if not (isinstance(category, type) and issubclass(category, Warning)):
        category = Warning
    message = warnings.WarningMessage(Warning(warning["message"]), category, warning["filename"], warning["lineno"])
    location = warning["location"] and tuple(warning["location"])
    item.config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": message, "when": "runtest", "nodeid": item.nodeid, "location": location})


def _interrupt(reported):
    if reported["exit"]:
        raise pytest.exit.Exception(reported["message"], reported["returncode"])
    raise KeyboardInterrupt
