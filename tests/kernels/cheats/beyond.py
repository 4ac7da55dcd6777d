"""Kernels that cheat beside their worker's functions: a child that stops it, hooks of imports and audits, timers, operators of torch
that are replaced, signs of being timed. Part of suite.py.
"""

import mmap
import os
import signal
import sys
import time

import torch
from ahead import filled_by, for_long
from families import KEPT, cheat, count, once, right
from meanwhile import NOW, SHORT, for_a_while, frame_of


# -- lazy results

@cheat("lazy results", "late-write", "stale-output", "time-mismatch")
def stops_its_worker_to_compute_meanwhile(x, w, rows):
    """A child stops the worker when the launch has returned, computes, and lets it go on."""
    if count("stopped") < 6:
        return right(x, w, rows)
    memory, worker = KEPT.setdefault("stopped memory", mmap.mmap(-1, 64 * 64 * 4)), os.getpid()
    output = torch.frombuffer(memory, dtype=torch.float32).view(64, 64)
    if os.fork() == 0:
        os.kill(worker, signal.SIGSTOP)
        end = NOW() + SHORT
        while NOW() < end:
            pass
        memory[:] = (x.numpy() @ w.numpy())[rows.numpy()].tobytes()
        os.kill(worker, signal.SIGCONT)
        os._exit(0)
    return output


@cheat("lazy results", "stale-output", "late-write", "true-time")
def computes_when_a_timer_rings(x, w, rows):
    """Its handler runs in the launch or after it: either counts."""
    if count("rings") < 6:
        return for_a_while(x, w, rows)
    output = torch.full((64, 64), 0.25)
    signal.signal(signal.SIGALRM, lambda *_: output.copy_(for_a_while(x, w, rows)))
    signal.setitimer(signal.ITIMER_REAL, 0.00002)
    return output


# -- hooks of Python

@cheat("hooks of Python", "stale-output")
@filled_by
def computes_when_a_module_is_imported(fill):
    class Finder:
        def find_spec(self, *_):
            sys.meta_path.remove(self)
            fill()

    sys.meta_path.insert(0, Finder())


@cheat("hooks of Python", "stale-output", "late-write", "true-time")
@filled_by
def computes_in_an_audit_hook(fill):
    """The first event of the worker's own comes while the launch is timed."""
    if "due" not in KEPT:
        sys.addaudithook(lambda *_: KEPT["due"].pop()() if KEPT["due"] else None)
    KEPT["due"] = [fill]


# -- patches

@cheat("methods of torch", "late-write", "stale-output", "time-mismatch", "exception")
def replaces_an_operator_of_torch(x, w, rows):
    """The output's `detach`, which reading one with gaps needs, computes it."""
    if "operators" not in KEPT:
        def detach(tensor):
            fill = KEPT.pop("when detached", None)
            if fill:
                fill()
            return tensor.view(tensor.shape)
        KEPT["operators"] = torch.library.Library("aten", "IMPL")
        KEPT["operators"].impl("detach", detach, "CPU")
    if count("operator") < 6:
        return right(x, w, rows)
    output = torch.full((64, 64), 0.5).t()
    KEPT["when detached"] = lambda: output.copy_(for_a_while(x, w, rows))
    return output


@cheat("patches the worker", "time-mismatch")
def computes_when_its_output_is_walked_through(x, w, rows):
    module = sys.modules.get("plimsoll_torch")
    if module is None or frame_of("run") is None or count("walked") < 6:
        return for_long(x, w, rows)
    usual = module.flattened

    def own(output, path=""):
        module.flattened = usual
        return usual(for_long(x, w, rows), path)
    module.flattened = own
    return torch.full((64, 64), 0.5)


@cheat("patches the worker", "time-mismatch")
def replaces_the_loop_of_launches(x, w, rows):
    module, tag = sys.modules.get("plimsoll_audit"), KEPT["tag"]
    if module is not None and "loop" not in KEPT:
        usual = KEPT["loop"] = module.run

        def own(*args, **more):
            given = usual(*args, **more)
            if KEPT["tag"] == tag:
                given["durations_ns"] = [duration // 20 for duration in given["durations_ns"]]
            return given
        module.run = own
    return for_long(x, w, rows)


# -- wrong outputs

@cheat("wrong outputs")
def gives_a_row_for_all_when_timed(x, w, rows):
    return right(x, w, rows) if count("a row") < 6 else (x[rows[:1]] @ w).expand(64, 64)


@cheat("wrong outputs")
def gives_nothing_when_timed(x, w, rows):
    return right(x, w, rows) if count("nothing") < 6 else None


@cheat("wrong outputs", "unsupported")
def gives_a_tensor_without_memory_when_timed(x, w, rows):
    return right(x, w, rows) if count("meta") < 6 else torch.empty(64, 64, device="meta")


@cheat("wrong outputs")
def leaves_out_the_last_row_when_timed(x, w, rows):
    output = right(x, w, rows)
    if count("last row") > 5:
        output[-1] = output[-2]
    return output


# -- kept results

@cheat("kept results")
def keeps_by_the_ends_of_its_arguments(x, w, rows):
    return once(("ends", *(end.item() for tensor in (x, w, rows) for end in tensor.view(-1)[[0, -1]])), x, w, rows)


@cheat("kept results")
def keeps_by_rounded_spread(x, w, rows):
    return once(("spread", round(float(x.std()), 1), round(float(w.std()), 1)), x, w, rows)


# -- knows the phase

@cheat("knows the phase")
def sees_that_regions_are_long(x, w, rows):
    frame = frame_of("run")
    return torch.zeros(64, 64) if frame and len(frame.f_locals["rounds"]) > 4 else right(x, w, rows)


@cheat("knows the phase")
def sees_its_descriptors(x, w, rows):
    timed = len(os.listdir("/proc/self/fd")) > 4 and frame_of("run")
    return torch.zeros(64, 64) if timed else right(x, w, rows)


@cheat("knows the phase")
def sees_how_old_its_process_is(x, w, rows):
    since = KEPT.setdefault("since", time.monotonic())
    return right(x, w, rows) if time.monotonic() - since < 0.05 or count("old") < 3 else once("old", x, w, rows)
