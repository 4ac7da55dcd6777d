"""Kernels that compute outside of their launch, yet within the worker's thread: replaced builtins, memory that traps the
worker's own writes, what runs when an output is dropped. Part of suite.py.
"""

import builtins
import ctypes
import json
import mmap
import os
import signal
import sys
import time
import weakref

import torch
from ahead import slowed
from families import KEPT, cheat, count, right

NOW = time.perf_counter_ns
SHORT = 200_000


def for_a_while(x, w, rows):
    """The right result, after 0.2 ms: little enough to be lost among what a worker takes beside its launches."""
    end = NOW() + SHORT
    while NOW() < end:
        pass
    return right(x, w, rows)


def frame_of(name):
    """The frame of this function of the worker."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame


def by_builtin(name, module=builtins):
    usual = getattr(module, name)

    def kernel(x, w, rows):
        if frame_of("run") is None or count("builtin " + name) < 6:
            return for_a_while(x, w, rows)
        output = torch.full((64, 64), 0.25)

        def own(*args, **more):
            frame = sys._getframe(1)
            if frame.f_code.co_name not in ("marked", "run", "extent"):
                return usual(*args, **more)
            setattr(module, name, usual)
            output.copy_(for_a_while(x, w, rows))
            return usual(*args, **more)
        setattr(module, name, own)
        return output
    return kernel


@cheat("patches the worker", "stale-output", "late-write", "time-mismatch", "exception", "true-time")
def computes_in_a_builtin(x, w, rows, kernel=by_builtin("len")):
    return kernel(x, w, rows)


@cheat("patches the worker", "time-mismatch")
def slows_the_clock_a_little(x, w, rows):
    return slowed(for_a_while, x, w, rows)


@cheat("patches the worker", "time-mismatch", "true-time")
def reports_less_by_json(x, w, rows):
    if "json" not in KEPT and frame_of("run"):
        usual = KEPT["json"] = json.dumps

        def own(value, *args, **more):
            if isinstance(value, dict) and "durations_ns" in value:
                value["durations_ns"] = [duration // 4 for duration in value["durations_ns"]]
            return usual(value, *args, **more)
        json.dumps = own
    return for_a_while(x, w, rows)


@cheat("lazy results", "stale-output", "true-time")
def computes_when_its_output_is_dropped(x, w, rows):
    output = torch.full((64, 64), 0.25) if count("dropped") > 6 else right(x, w, rows)
    weakref.finalize(output, lambda: KEPT.update(next=for_a_while(x, w, rows)))
    return KEPT.pop("next") if "next" in KEPT and count("dropped 2") > 6 else output


LIBC = ctypes.CDLL(None)


class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]


@cheat("works ahead", "mutated-input", "stale-output", "time-mismatch", "tampered", "exception", "input")
def computes_when_a_value_is_put_in(x, w, rows):
    """The next write to an argument traps, with the values of all others there already."""
    frame = frame_of("run")
    if frame is None or count("trap") < 6:
        return for_a_while(x, w, rows)
    page = mmap.PAGESIZE
    starts = sorted({tensor.data_ptr() // page * page for tensor in (x, w, rows)})
    span = starts[0], max(tensor.data_ptr() + tensor.numel() * tensor.element_size() for tensor in (x, w, rows)) - starts[0]

    def trapped(number, caught, context):
        LIBC.mprotect(ctypes.c_void_p(span[0]), ctypes.c_size_t(span[1]), 3)
        now = frame.f_locals
        for target, source, size in now.get("puts") or ():
            ctypes.memmove(target, os.pread(now["values"], size, source), size)
        KEPT["trapped"] = for_a_while(x, w, rows), (bytes(x.numpy()), bytes(w.numpy()), bytes(rows.numpy()))

    if "trap" not in KEPT or "action" not in KEPT:
        kind = ctypes.PYFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        KEPT["action"] = call = kind(trapped)
        action = Action(ctypes.cast(call, ctypes.c_void_p).value, (ctypes.c_ulong * 16)(), 4 | 0x40000000, None)
        LIBC.sigaction(signal.SIGSEGV, ctypes.byref(action), None)
    made = KEPT.pop("trapped", None)
    output = made[0] if made and made[1] == (bytes(x.numpy()), bytes(w.numpy()), bytes(rows.numpy())) else for_a_while(x, w, rows)
    LIBC.mprotect(ctypes.c_void_p(span[0]), ctypes.c_size_t(span[1]), 1)
    return output


@cheat("kept results", "true-time")
def keeps_the_product_by_contents(x, w, rows):
    """Recognises arguments that did not change since the launch before."""
    key = bytes(x.numpy()), bytes(w.numpy())
    if KEPT.get("contents") != key:
        end = NOW() + 10 * SHORT
        while NOW() < end:
            pass
        KEPT["contents"], KEPT["of contents"] = key, x @ w
    return KEPT["of contents"][rows]
