"""Honest kernels of unusual shape: none may be accused. Part of suite.py."""

import ctypes
import gc
import mmap
import os
import signal
import subprocess
import sys
import threading
import weakref

import torch
from families import KEPT, honest, right


@honest
def under_a_profiler(x, w, rows):
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    output = right(x, w, rows)
    profile.disable()
    return output


@honest
def leaves_a_profiler_on(x, w, rows):
    sys.setprofile(lambda *_: None)
    return right(x, w, rows)


@honest
def with_a_timer_of_its_own(x, w, rows):
    if "timer" not in KEPT:
        KEPT["timer"] = True
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    return right(x, w, rows)


@honest
def in_a_child_for_each_launch(x, w, rows):
    memory = mmap.mmap(-1, 64 * 64 * 4)
    child = os.fork()
    if child == 0:
        memory[:] = (x.numpy() @ w.numpy())[rows.numpy()].tobytes()
        os._exit(0)
    os.waitpid(child, 0)
    return torch.frombuffer(memory, dtype=torch.float32).view(64, 64)


@honest
def starts_a_program_once(x, w, rows):
    if "program" not in KEPT:
        KEPT["program"] = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=False).stdout
    return right(x, w, rows)


@honest
def frees_what_it_returned(x, w, rows):
    output = right(x, w, rows)
    weakref.finalize(output, gc.collect, 0)
    return output


@honest
def two_outputs_share_memory_over_launches(x, w, rows):
    rooms = KEPT.setdefault("two rooms", [torch.empty(64, 64), torch.empty(64, 64)])
    rooms.reverse()
    return torch.index_select(x @ w, 0, rows, out=rooms[0])


@honest
def by_a_callback_of_c(x, w, rows):
    output = torch.empty(64, 64)

    @ctypes.CFUNCTYPE(None)
    def call():
        output.copy_(right(x, w, rows))
    call()
    return output


@honest
def with_methods_of_its_own(x, w, rows):
    if not hasattr(torch.Tensor, "looked_up"):
        torch.Tensor.looked_up = lambda self, rows: self[rows]
    return (x @ w).looked_up(rows)


# Last: these threads go on beside the launches of whatever follows.

@honest
def beside_a_thread_that_works_for_itself(x, w, rows):
    if "beside" not in KEPT:
        def busy():
            while True:
                sum(range(1000))
                threading.Event().wait(0.001)
        KEPT["beside"] = threading.Thread(target=busy, daemon=True)
        KEPT["beside"].start()
    return right(x, w, rows)


@honest
def beside_a_thread_that_never_rests(x, w, rows):
    if "restless" not in KEPT:
        def busy():
            while True:
                sum(range(1000))
        KEPT["restless"] = threading.Thread(target=busy, daemon=True)
        KEPT["restless"].start()
    return right(x, w, rows)
