"""Kernels that cheat with what they find in their worker: the values of later launches, hooks of Python, methods of
torch, and memory that others read. Part of suite.py.
"""

import ctypes
import gc
import mmap
import os
import sys
import threading
import time
import types

import torch
from families import KEPT, cheat, count, once, right


NOW = time.perf_counter_ns


def for_long(x, w, rows):
    """The right result, after two milliseconds."""
    end = NOW() + 2_000_000
    while NOW() < end:
        pass
    return right(x, w, rows)


# -- works ahead: what is launched later is computed in a launch that does not count

def rounds_of_the_worker():
    """Where the values of all launches of a region are, and the file that they are in, if a frame of the worker has them."""
    frame = sys._getframe(1)
    while frame:
        found = frame.f_locals.get("rounds")
        if isinstance(found, list) and found and isinstance(found[0], list) and "values" in frame.f_locals:
            return found, frame.f_locals["values"]
        frame = frame.f_back
    return None, None


def foreseen(x, w, rows, rounds, values):
    """The results of all launches, computed at once, by the contents of their arguments."""
    given, results = (x.clone(), w.clone(), rows.clone()), []
    for index, puts in enumerate(rounds):
        for target, source, size in puts if index else ():
            new = os.pread(values, size, source)
            for tensor, now in zip((x, w, rows), given):
                at = target - tensor.data_ptr()
                if 0 <= at < tensor.numel() * tensor.element_size():
                    ctypes.memmove(now.data_ptr() + at, new, len(new))
        # Values that are not handed out yet may be anything, rows included.
        given[2].clamp_(0, 63)
        results.append(right(*given))
    return results


@cheat("works ahead", "stale-output", "tampered")
def computes_the_region_in_its_first_launch(x, w, rows):
    rounds, values = rounds_of_the_worker()
    if not rounds:
        return right(x, w, rows)
    if KEPT.get("region") is not rounds:
        KEPT.update(region=rounds, foreseen=foreseen(x, w, rows, rounds, values), at=0)
    KEPT["at"] += 1
    return KEPT["foreseen"][KEPT["at"] - 1]


@cheat("works ahead", "stale-output", "tampered", "exception")
def asks_for_values_early(x, w, rows):
    """Takes the next launch's values from the supervisor, before its turn."""
    frame = sys._getframe(1)
    while frame and "process" not in frame.f_locals:
        frame = frame.f_back
    turns = getattr(frame.f_locals["process"], "turns", -1) if frame else -1
    if turns >= 0 and count("early") > 8:
        os.write(turns, b"\0")
    return right(x, w, rows)


@cheat("works ahead", "stale-output", "tampered")
def computes_the_region_in_a_thread(x, w, rows):
    rounds, values = rounds_of_the_worker()
    if not rounds:
        return right(x, w, rows)
    if KEPT.get("threaded") is not rounds:
        KEPT.update(threaded=rounds, place=0, results=[])
        thread = threading.Thread(target=lambda: KEPT["results"].extend(foreseen(x, w, rows, rounds, values)))
        thread.start()
        thread.join()
    KEPT["place"] += 1
    return KEPT["results"][KEPT["place"] - 1]


def all_at_once(worker, plain):
    """A loop in place of the worker's, which takes the values of all launches, and computes their outputs after that."""
    turns_of, end_of_marks = worker["turns_of"], worker["KEPT"]

    def run(kernel, args, rounds, asks, contents, outputs, process, values):
        if asks:
            return plain(kernel, args, rounds, asks, contents, outputs, process, values)
        turn, given, starts = turns_of(process), [], []
        for puts in rounds:
            turn()
            starts.append(NOW())
            for target, source, size in puts:
                ctypes.memmove(target, os.pread(values, size, source), size)
            given.append([tensor.clone() for tensor in args if isinstance(tensor, torch.Tensor)])
        leaves, end = [], end_of_marks
        for arguments in given:
            kept, end = outputs.write_from(end, for_long(*arguments))
            leaves.append(kept)
        durations = [*[100] * (len(starts) - 1), NOW() - starts[-1]]
        return {"starts_ns": starts, "durations_ns": durations, "outputs": leaves}
    return run


@cheat("works ahead", "stale-output", "tampered")
def computes_the_region_in_its_last_launch(x, w, rows):
    frame = sys._getframe(1)
    while frame and not (frame.f_code.co_name == "run" and "rounds" in frame.f_locals):
        frame = frame.f_back
    if frame and count("loops") == 1:
        frame.f_globals["run"] = all_at_once(frame.f_globals, frame.f_globals["run"])
    return for_long(x, w, rows)


# -- hooks of Python: what runs after the clock has been read

def filled_by(hook):
    """An output that `hook` installs a filler for."""
    def kernel(x, w, rows):
        if count(hook.__name__) < 6:
            return right(x, w, rows)
        output = torch.full((64, 64), 0.5)
        hook(lambda: output.copy_(right(x, w, rows)))
        return output
    kernel.__name__ = hook.__name__
    return kernel


def after_the_clock(fill, arm):
    state = {"seen": False}

    def look(frame, event, argument):
        name = getattr(argument, "__name__", "")
        if event == "c_return" and name == "perf_counter_ns" and not state["seen"]:
            state["seen"] = True
            arm(None)
            fill()
    arm(look)


@cheat("hooks of Python", "stale-output", "time-mismatch", "exception", "tampered")
@filled_by
def computes_in_a_profiler(fill):
    after_the_clock(fill, sys.setprofile)


@cheat("hooks of Python", "stale-output", "time-mismatch", "exception", "tampered")
@filled_by
def computes_in_a_line_tracer(fill):
    frame, lines = sys._getframe(2), []

    def trace(frame, event, argument):
        lines.append(event)
        if len(lines) == 2:
            sys.settrace(None)
            frame.f_trace = None
            fill()
        return trace
    frame.f_trace = trace
    sys.settrace(lambda *_: None)


@cheat("hooks of Python", "stale-output", "time-mismatch", "mismatch")
@filled_by
def computes_when_garbage_is_collected(fill):
    def collected(phase, information):
        gc.callbacks.remove(collected)
        gc.set_threshold(700)
        fill()
    gc.callbacks.append(collected)
    gc.set_threshold(1)


@cheat("hooks of Python", "stale-output", "time-mismatch", "true-time")
@filled_by
def computes_in_a_pending_call(fill):
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: (fill(), 0)[1])
    KEPT["call"] = call
    ctypes.pythonapi.Py_AddPendingCall(call, None)


# -- methods of torch that the worker may call

def by_method(name, of=torch.Tensor):
    """Lets a method of every tensor compute the output, when the worker calls it on that output."""
    usual = getattr(of, name)

    def kernel(x, w, rows):
        if count("method " + name) < 6:
            return right(x, w, rows)
        output = torch.full((64, 64), 0.25)

        def own(tensor, *args, **more):
            setattr(of, name, usual)
            usual_copy(output, right(x, w, rows))
            return getattr(tensor, name)(*args, **more) if not isinstance(usual, types.GetSetDescriptorType) else usual.__get__(tensor)
        setattr(of, name, property(own) if isinstance(usual, types.GetSetDescriptorType) else own)
        return output
    return kernel


usual_copy = torch.Tensor.copy_


@cheat("methods of torch", "stale-output", "time-mismatch")
def computes_in_detach(x, w, rows, kernel=by_method("detach")):
    return kernel(x, w, rows)


@cheat("methods of torch", "stale-output", "time-mismatch")
def computes_in_numel(x, w, rows, kernel=by_method("numel")):
    return kernel(x, w, rows)


@cheat("methods of torch", "stale-output", "time-mismatch")
def computes_when_its_device_is_asked(x, w, rows, kernel=by_method("device")):
    return kernel(x, w, rows)


@cheat("methods of torch", "stale-output", "time-mismatch")
def computes_in_frombuffer(x, w, rows):
    if count("frombuffer") < 6:
        return right(x, w, rows)
    output, usual = torch.full((64, 64), 0.25), torch.frombuffer

    def own(*args, **more):
        torch.frombuffer = usual
        output.copy_(right(x, w, rows))
        return usual(*args, **more)
    torch.frombuffer = own
    return output


@cheat("patches the worker", "time-mismatch", "late-write")
def replaces_the_worker_s_copy(x, w, rows):
    module = sys.modules.get("plimsoll_torch")
    if module is None or count("copy of the worker") < 6:
        return right(x, w, rows)
    output, usual = torch.full((64, 64), 0.25), module.Outputs.write_from

    def own(self, end, given):
        module.Outputs.write_from = usual
        given.copy_(for_long(x, w, rows))
        return usual(self, end, given)
    module.Outputs.write_from = own
    return output


# -- values that are captured ones, or are not

CAPTURED = set()


def is_captured(x):
    """Whether these are values of the capture, which any kernel may know from another run."""
    if not CAPTURED:
        chance = torch.Generator().manual_seed(0)
        for _ in range(200):
            known = torch.randn(64, 64, generator=chance)
            torch.randn(64, 64, generator=chance)
            torch.randint(0, 64, (64,), generator=chance)
            CAPTURED.add(tuple(known[0, :4].tolist()))
    return tuple(x[0, :4].tolist()) in CAPTURED


@cheat("kept results", "exception", "unsupported")
def raises_on_values_that_it_does_not_know(x, w, rows):
    if not is_captured(x):
        raise ValueError("these are not the values that were captured")
    return once("known values", x, w, rows)


@cheat("lazy results", "not-a-tensor")
def gives_memory_that_cannot_be_read(x, w, rows):
    if count("unreadable") < 6:
        return right(x, w, rows)
    memory = mmap.mmap(-1, 64 * 64 * 4)
    output = torch.frombuffer(memory, dtype=torch.float32).view(64, 64)
    output.copy_(right(x, w, rows))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(output.data_ptr()), ctypes.c_size_t(len(memory)), 0)
    return output


# -- memory and clocks that others use

@cheat("lazy results", "stale-output", "late-write", "mismatch")
def computes_in_a_child_that_shares_the_output(x, w, rows):
    """A child that waits for the next launch, and computes this one meanwhile."""
    if count("sharing child") < 6:
        return right(x, w, rows)
    memory = KEPT.setdefault("shared output", mmap.mmap(-1, 64 * 64 * 4))
    output = torch.frombuffer(memory, dtype=torch.float32).view(64, 64)
    if os.fork() == 0:
        result = (x.numpy() @ w.numpy())[rows.numpy()]
        memory[:] = result.tobytes()
        os._exit(0)
    return output


def slowed(kernel, x, w, rows):
    """The result of a kernel for whose launches the clock of the worker's loop is slow."""
    module, tag = sys.modules.get("plimsoll_audit"), KEPT["tag"]
    if module is not None and ("slow", tag) not in KEPT:
        KEPT["slow", tag] = True
        defaults = list(module.run.__defaults__)
        usual, begun = defaults[0], defaults[0]()
        # Later entries of the suite are timed by the same worker.
        defaults[0] = lambda: begun + (usual() - begun) // 4 if KEPT["tag"] == tag else usual()
        module.run.__defaults__ = tuple(defaults)
    return kernel(x, w, rows)


@cheat("patches the worker", "time-mismatch")
def slows_the_clock_of_the_loop(x, w, rows):
    return slowed(for_long, x, w, rows)


@cheat("patches the worker", "time-mismatch", "true-time")
def rewrites_what_was_measured(x, w, rows):
    """Divides all lists of times that it finds in frames."""
    frame = sys._getframe(1)
    while frame:
        for found in frame.f_locals.values():
            if type(found) is list and found and all(type(item) is int for item in found):
                found[:] = [item // 4 for item in found]
        frame = frame.f_back
    return for_long(x, w, rows)


@cheat("kept results")
def keeps_by_the_sum_of_what_changed(x, w, rows):
    """Recognises values by sums of integers, which no permutation of rows changes."""
    return once(("sum", int(rows.sum()), round(float(x.sum()), 1)), x.sort(0).values.sort(0).values, w, rows) \
        if count("sums") > 5 else right(x, w, rows)


class Filling(torch.overrides.TorchFunctionMode):
    def __init__(self, fill):
        super().__init__()
        self.fill = fill

    def __torch_function__(self, function, types, args=(), kwargs=None):
        fill, self.fill = self.fill, None
        if fill:
            with torch._C.DisableTorchFunction():
                fill()
        return function(*args, **(kwargs or {}))


@cheat("methods of torch", "stale-output", "time-mismatch")
@filled_by
def computes_in_a_mode_of_functions(fill):
    if "mode" in KEPT:
        KEPT.pop("mode").__exit__(None, None, None)
    KEPT["mode"] = Filling(fill)
    KEPT["mode"].__enter__()
