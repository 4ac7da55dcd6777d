"""Removes locks of torch's builds that a killed Plimsoll worker left behind, because nobody else ever would.

`load_inline` takes a lock by creating a file in its build folder, and later processes wait until the file is gone. A
worker writes its identity into the file. A later worker on the same machine removes the file if that process is gone. A
file without an identity belongs to another program, and is never removed. In a folder that one worker at a time uses,
the lock of a worker in another name space is stale: the supervisor has ended it.

A worker that waits for a lock says so for as long as a process has the file open, as torch keeps it: that is a build and
no hang. If none has, it says so on standard error, and the supervisor ends the wait.
"""

import fcntl
import json
import os
import threading
import time

from torch.utils.file_baton import FileBaton


def who(pid):
    """An identity of a process that is unique among all machines; None once it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started = file.read().rsplit(")", 1)[1].split()[19]
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return {"plimsoll": pid, "started": started, "boot": boot, "namespace": os.readlink("/proc/self/ns/pid")}
    except (OSError, IndexError):
        return None


# The folder that one worker at a time uses, if there is one.
FOLDER_OF_ONE = []


def is_stale(path):
    """Whether a lock names a worker that is gone: one that would be visible from here, or an earlier one of this folder."""
    try:
        with open(path, encoding="ascii") as file:
            holder = json.load(file)
    except (OSError, ValueError):
        return False
    here = who(os.getpid())
    if not isinstance(holder, dict) or not isinstance(holder.get("plimsoll"), int) or here is None:
        return False
    if holder.get("boot") != here["boot"]:
        return False
    if holder.get("namespace") != here["namespace"]:
        return any(os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep) for folder in FOLDER_OF_ONE)
    return who(holder["plimsoll"]) != holder


def remove_stale(path):
    """Removes a stale lock. If several workers see it, one removes it, and none removes the lock that another takes
    next."""
    if not is_stale(path):
        return
    try:
        guard = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if is_stale(path):
            os.remove(path)
    except OSError:
        pass
    finally:
        os.close(guard)


def install(folder_of_one=None, say=lambda: None):
    """Makes torch's own lock record its owner, wherever it has been imported. `say` is called again and again while a
    process that builds is waited for."""
    FOLDER_OF_ONE[:] = [folder_of_one] if folder_of_one else []
    FileBaton.try_acquire = acquired_by(FileBaton.try_acquire)
    FileBaton.wait = waiting(say)


# How often a lock is looked for, as torch does, and its holder.
PAUSE, LOOKS = 0.1, 20


def is_held(path):
    """Whether a process that is visible from here has the file open."""
    try:
        lock = os.stat(path)
    except OSError:
        return True
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            for name in os.listdir(f"/proc/{process}/fd"):
                try:
                    if os.path.samestat(os.stat(f"/proc/{process}/fd/{name}"), lock):
                        return True
                except OSError:
                    pass
        except OSError:
            # It has ended, or is another user's.
            pass
    return False


def waiting(say):
    def wait(baton):
        path, looks, complained = baton.lock_file_path, 0, False
        while os.path.exists(path):
            if looks % LOOKS == 0 and threading.current_thread() is threading.main_thread():
                if is_held(path):
                    say()
                elif not complained and os.path.exists(path):
                    complained = True
                    text = f"plimsoll worker: nobody here holds the lock {path}\n"
                    os.write(2, text.encode("utf-8", "surrogateescape"))
            looks += 1
            time.sleep(PAUSE)

    return wait


def acquired_by(try_acquire):
    def acquire(baton):
        path = baton.lock_file_path
        remove_stale(path)
        taken = try_acquire(baton)
        if taken:
            try:
                with open(path, "r+", encoding="ascii") as file:
                    json.dump(who(os.getpid()), file)
            except OSError:
                pass
        return taken

    return acquire
