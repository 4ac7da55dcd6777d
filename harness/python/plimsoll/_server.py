"""The parent's side of the process that forks the tests of one file (`_fork.py`)."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

SERVERS = pytest.StashKey()
# The seconds that a server may take to collect its file for a test with a timeout, which an interpreter of its own holds
# to it.
STARTS = 60
# The seconds that it may take to end before it is killed.
ENDS = 30


class Servers:
    """The server of this pytest, if any: one at a time, for the file whose tests are running."""

    def __init__(self, counts):
        # How many tests of each file are measured.
        self.counts = counts
        self.server = None
        # The files whose tests cannot be forked, with the reason.
        self.unsafe = {}

    def of(self, path, setup, start, patience):
        """The server for a file, started if need be; None if it is not worth it or not possible."""
        if self.counts.get(path, 0) < 2 or path in self.unsafe or not hasattr(os, "pidfd_open"):
            return None
        if self.server is not None and not self.server.serves(path, setup):
            self.close()
        if self.server is None:
            self.server = start()
            reason = self.server.started(patience)
            if reason is not None:
                self.give_up(reason)
        return self.server

    def give_up(self, reason):
        """Has the other tests of the file start an interpreter each."""
        self.unsafe[self.server.path] = reason
        self.close()

    def close(self):
        if self.server is not None:
            server, self.server = self.server, None
            server.close()


class Server:
    """A process that has collected the tests of one file."""

    def __init__(self, path, setup, request, command, cwd, captured):
        self.path = path
        self.setup = setup
        self.folder = tempfile.mkdtemp(prefix="plimsoll-")
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.is_ready = False
        self.file = ours.makefile("r", encoding="utf-8")
        name = os.path.join(self.folder, "request")
        with open(name, "w", encoding="utf-8") as file:
            json.dump(request(self.folder), file, default=repr)
        streams = {}
        try:
            if captured:
                streams = {name: open(os.path.join(self.folder, name), "w+b") for name in ("stdout", "stderr")}
            self.process = subprocess.Popen([*command, name], cwd=cwd, stdin=theirs, **streams)
        finally:
            theirs.close()
            for file in streams.values():
                file.close()

    def started(self, patience):
        """Waits until its tests are collected, for so many seconds at most; returns why they cannot be forked, if so."""
        self.socket.settimeout(patience)
        reason = self._ask().get("unsafe", "the tests could not be collected")
        self.socket.settimeout(None)
        self.is_ready = reason is None
        return reason

    def serves(self, path, setup):
        """Whether it is there to fork tests of a file."""
        return self.is_ready and (self.path, self.setup) == (path, setup)

    def run(self, request):
        """Runs a test to its end; returns whether it was run, and not refused."""
        shutil.rmtree(os.path.join(self.folder, "tmp"), ignore_errors=True)
        answer = self._ask(request)
        self.is_ready = bool(answer)
        return "refused" not in answer

    def _ask(self, request=None):
        """The next answer; none of its own if it has ended."""
        try:
            if request is not None:
                self.socket.sendall(json.dumps(request).encode() + b"\n")
            line = self.file.readline()
        except OSError:
            line = ""
        return json.loads(line) if line.endswith("\n") else {}

    def close(self):
        """Ends it, with the test that it runs."""
        self.file.close()
        self.socket.close()
        try:
            self.process.wait(timeout=ENDS if self.is_ready else 1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def servers(session, is_measured):
    """The servers of a session."""
    found = session.config.stash.get(SERVERS, None)
    if found is None:
        counts = {}
        for item in session.items:
            if is_measured(item):
                counts[str(item.path)] = counts.get(str(item.path), 0) + 1
        found = session.config.stash[SERVERS] = Servers(counts)
    return found
