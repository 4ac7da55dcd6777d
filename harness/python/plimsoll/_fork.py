"""The process that has collected the tests of one file and forks a process for each of them, which saves their imports.

`_server.py` starts it and asks it, one test at a time. For each test it forks a process that becomes `plimsoll isolate`,
and that process forks the test's own before: its parent can then measure it to its end. The test's process waits until
`plimsoll isolate` has given it pages of its own, and goes on as a pytest that has collected its test.
"""

import atexit
import fcntl
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import warnings
import weakref


class Control:
    """The connection to the pytest that asks."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("r", encoding="utf-8")

    def send(self, **answer):
        self.socket.sendall(json.dumps(answer).encode() + b"\n")

    def requests(self):
        """What is asked for, until nobody is left to ask."""
        for line in self.file:
            yield json.loads(line)

    def close(self):
        self.file.close()
        self.socket.close()


def server(connection, lost):
    """What forks the processes of a session's tests; `lost` is the exit code of one that does not get to its test."""
    control = Control(connection)
    streams = [identity(1), identity(2)]
    return lambda session: serve(control, session, streams, lost)


def serve(control, session, streams, lost):
    """Forks a process for each test that is asked for.

    Returns the request and the connection to `plimsoll isolate` in such a process, and None when no more are asked for.
    """
    control.send(unsafe=_unsafe(session.config, control, streams))
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for request in control.requests():
        if all(item.nodeid != request["nodeid"] for item in session.items):
            control.send(refused=f"{request['nodeid']} is not among its tests")
            continue
        keeper = _forked()
        if keeper == 0:
            signal.signal(signal.SIGINT, interrupted)
            try:
                connection = _start(request, streams)
            except BaseException as error:
                print(f"the process of {request['nodeid']} cannot be forked: {error}", file=sys.stderr, flush=True)
                os._exit(lost)
            control.close()
            _begin_anew()
            return request, connection
        control.send(ended=_awaited(keeper, control))
    signal.signal(signal.SIGINT, interrupted)
    return None


def _forked():
    with warnings.catch_warnings():
        # Threads have been looked for.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _start(request, streams):
    """Forks the process of the test and becomes `plimsoll isolate`; returns the connection, in the test's process."""
    if request["streams"]:
        _redirect(streams, request["streams"])
    ours, theirs = socket.socketpair()
    alive, life = os.pipe()
    test = _forked()
    if test == 0:
        ours.close()
        os.close(life)
        _die_with(alive)
        os.environ[request["names"]] = request["identity"]
        return theirs
    # The other end of the pipe lives as long as this process, whatever it executes.
    os.set_inheritable(life, True)
    os.dup2(ours.fileno(), 0)
    # Python ignores these signals, which a program does not expect.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    command = request["command"]
    os.execvpe(command[0], [*command, f"--child={test}"], {**os.environ, request["names"]: request["identity"]})


def _redirect(streams, files):
    """Lets everything that writes to the server's own output, such as the fault handler, write to these files."""
    opened = {}
    for old, path in zip(streams, files):
        opened[old] = os.open(path, os.O_WRONLY)
    for number in _descriptors():
        new = opened.get(identity(number))
        if new is not None and new != number:
            os.dup2(new, number, inheritable=number < 3)
    for new in opened.values():
        os.close(new)


def _die_with(pipe):
    """Has the kernel kill this process when the other end of the pipe is closed."""
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def _begin_anew():
    """Leaves what the server has registered for its end to the server, such as the removal of temporary folders."""
    atexit._clear()
    for finalizer in weakref.finalize._registry.values():
        finalizer.atexit = False
    # These are needed for what the test itself will begin.
    atexit.register(weakref.finalize._exitfunc)
    atexit.register(logging.shutdown)
    if "multiprocessing.util" in sys.modules:
        atexit.register(sys.modules["multiprocessing.util"]._exit_function)


def _awaited(keeper, control):
    """The exit code of `plimsoll isolate`, which is stopped if nobody waits for it any more."""
    end = os.pidfd_open(keeper)
    poll = select.poll()
    poll.register(end, select.POLLIN)
    poll.register(control.socket, select.POLLIN)
    while True:
        ready = [number for number, _ in poll.poll()]
        if end in ready:
            break
        # Only its end is readable while a test runs.
        poll.unregister(control.socket)
        os.kill(keeper, signal.SIGTERM)
    os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])


def _unsafe(config, control, streams):
    """Why a fork of this process could differ from a process that did all of this itself; None if it could not."""
    # Libraries that are made for it, such as OpenBLAS, end their threads before a fork.
    try:
        os.close(os.pidfd_open(os.getpid()))
        fork = _forked()
        if fork == 0:
            os._exit(0)
        os.waitpid(fork, 0)
    except OSError as error:
        return f"it cannot fork: {error}"
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
        return "it has threads"
    if _has_children():
        return "it has started processes"
    for plugin in config.pluginmanager.get_plugins():
        if _ends_session(plugin):
            return f"{getattr(plugin, '__name__', plugin)} ends something with the session"
    known = {control.socket.fileno()}
    for number in _descriptors():
        if number > 2 and number not in known and identity(number) not in streams:
            target = os.readlink(f"/proc/self/fd/{number}")
            # A terminal and an empty file have no place in them that processes would share.
            if target != os.devnull and not os.isatty(number):
                return f"{target} is open"
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            rights = line.split()[1]
            if "w" in rights and "s" in rights:
                return "it shares memory"
    with open("/proc/self/status", encoding="utf-8") as status:
        if any(line.startswith("VmSwap:") and line.split()[1] != "0" for line in status):
            return "it has swapped memory"
    return None


def _has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _ends_session(plugin):
    """Whether a plugin that is not pytest's own ends something with the session, which the first test would end."""
    owner = getattr(plugin, "__name__", None) or type(plugin).__module__
    if owner.split(".")[0] in ("_pytest", "pytest", "plimsoll", "plimsoll_child", "xdist"):
        return False
    return any(hasattr(plugin, name) for name in ("pytest_sessionfinish", "pytest_unconfigure"))


def _descriptors():
    return [number for number in map(int, os.listdir("/proc/self/fd")) if identity(number) is not None]


def identity(number):
    """What a descriptor is open on; None if it is closed."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
