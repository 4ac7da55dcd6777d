"""Locks of torch's builds that a killed worker of Plimsoll left behind: nobody else would ever remove them.

`load_inline` takes a lock by making a file in its folder of builds, and whoever comes later waits until the file is gone. A worker
writes into the file who it is. A later worker on the same machine that finds the file, and that process gone, removes it. A file
that says nothing is another program's, and is waited for as ever.
"""

import fcntl
import json
import os

from torch.utils.file_baton import FileBaton


def who(pid):
    """What tells a process from all others of all machines; None once it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started = file.read().rsplit(")", 1)[1].split()[19]
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return {"plimsoll": pid, "started": started, "boot": boot, "namespace": os.readlink("/proc/self/ns/pid")}
    except (OSError, IndexError):
        return None


def is_stale(path):
    """Whether a lock says that it is of a worker that could be seen from here, and is gone."""
    try:
        with open(path, encoding="ascii") as file:
            holder = json.load(file)
    except (OSError, ValueError):
        return False
    here = who(os.getpid())
    if not isinstance(holder, dict) or not isinstance(holder.get("plimsoll"), int) or here is None:
        return False
    same = all(holder.get(key) == here[key] for key in ("boot", "namespace"))
    return same and who(holder["plimsoll"]) != holder


def remove_stale(path):
    """Removes a stale lock. Of several workers that see it one does, and none removes the lock that another then takes."""
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


def install():
    """Has torch's own lock say whose it is, wherever it has been imported to."""
    FileBaton.try_acquire = acquired_by(FileBaton.try_acquire)


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
