"""Kernels that use what torch, Python and the system offer besides functions: libraries of operators, dispatch modes, versions,
weak references, compiled results, storages that are set, maps of files, handlers, finders of modules. Half of them cheat
with it. Part of suite.py.
"""

import ctypes
import gc
import importlib.abc
import mmap
import os
import signal
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import torch
from families import cheat, copies, count, honest, right
from torch.utils._python_dispatch import TorchDispatchMode

# Of these kernels alone: others, which run in the same worker, keep things by the same names.
KEPT = {}


def stored(name, x, w, rows):
    """The first result of a kernel."""
    if name not in KEPT:
        KEPT[name] = right(x, w, rows)
    return KEPT[name]


# -- cheats

@cheat("kept results")
def keeps_in_the_context_of_a_function(x, w, rows):
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return stored("context", x, w, rows).clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient, gradient

    return Kept.apply(x, w)


class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x, w, rows):
        later = torch.Tensor._make_wrapper_subclass(cls, (64, 64), dtype=torch.float32)
        later.parts = x, w, rows
        return later

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args = [right(*arg.parts) if type(arg) is cls else arg for arg in args]
        return function(*args, **(kwargs or {}))


@cheat("lazy results", "not-a-tensor")
def gives_a_subclass_with_a_dispatch(x, w, rows):
    return Later(x, w, rows)


class Skips(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.mm.default and "mode" in KEPT:
            return KEPT["mode"]
        KEPT["mode"] = function(*args, **(kwargs or {}))
        return KEPT["mode"]


@cheat("kept results")
def keeps_in_a_dispatch_mode(x, w, rows):
    with Skips():
        product = torch.mm(x, w)
    return product[rows]


@cheat("kept results")
def gives_a_view_by_version(x, w, rows):
    key = "version", x._version, w._version, rows._version
    if key not in KEPT:
        KEPT[key] = right(x, w, rows)
    return KEPT[key].view(64, 64)


@cheat("kept results")
def keeps_by_a_weak_reference(x, w, rows):
    seen = KEPT.get("weak")
    if seen is None or seen[0]() is None:
        KEPT["weak"] = seen = weakref.ref(x.untyped_storage()), right(x, w, rows), x
    return seen[1].clone()


@cheat("kept results")
def keeps_what_is_compiled(x, w, rows):
    if "traced" not in KEPT:
        with_constant = right(x, w, rows)
        KEPT["traced"] = torch.jit.trace(lambda a: with_constant + 0 * a, x)
    return KEPT["traced"](torch.zeros_like(x))


@cheat("kept results")
def sets_the_storage_of_its_output(x, w, rows):
    out = torch.empty(0)
    kept = stored("set", x, w, rows)
    return out.set_(kept.untyped_storage(), 0, (64, 64), (64, 1))


@cheat("works ahead", "late-write", "stale-output", "tampered", "mismatch")
def copies_later_by_ctypes(x, w, rows):
    out, given = torch.empty(64, 64), copies(x, w, rows)

    def write():
        made = right(*given)
        ctypes.memmove(out.data_ptr(), made.data_ptr(), made.numel() * 4)

    threading.Timer(0.0, write).start()
    return out


@cheat("kept results")
def keeps_in_a_map_of_shared_memory(x, w, rows):
    path = "/dev/shm/plimsoll-cheat-map"
    if "map" not in KEPT:
        with open(path, "wb+") as file:
            file.write(right(x, w, rows).numpy().tobytes())
            file.flush()
            KEPT["map"] = mmap.mmap(file.fileno(), 0)
        os.unlink(path)
    return torch.frombuffer(KEPT["map"], dtype=torch.float32).view(64, 64)


@cheat("lazy results", "stale-output", "unwritten-output", "late-write", "mismatch")
def computes_when_garbage_is_collected(x, w, rows):
    out, given = torch.empty(64, 64), copies(x, w, rows)
    if "collector" not in KEPT:
        KEPT["collector"] = True
        gc.callbacks.append(lambda phase, info: phase == "start" and KEPT["pending"]())
    KEPT["pending"] = lambda: KEPT.__setitem__("pending", int) or out.copy_(right(*given))
    return out


@cheat("lazy results", "stale-output", "unwritten-output", "late-write", "mismatch", "true-time")
def computes_in_a_handler(x, w, rows):
    out, given = torch.empty(64, 64), copies(x, w, rows)
    signal.signal(signal.SIGUSR1, lambda *_: out.copy_(right(*given)))
    threading.Thread(target=lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)).start()
    return out


class Finds(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        KEPT["found"] = KEPT.get("found", 0) + 1
        return None


@cheat("knows the phase")
def counts_imports(x, w, rows):
    if count("imports") == 1:
        sys.meta_path.insert(0, Finds())
    return stored("imports made", x, w, rows) if count("calls") > 3 else right(x, w, rows)


@cheat("kept results")
def repeats_a_row_of_an_out(x, w, rows):
    out = KEPT.setdefault("out", torch.empty(64, 64))
    if count("filled") == 1:
        torch.index_select(x @ w, 0, rows, out=out)
    else:
        torch.index_select(x[:1] @ w, 0, torch.zeros(1, dtype=torch.int64), out=torch.empty(1, 64))
    return out


@cheat("kept results")
def keeps_by_a_checksum_of_bits(x, w, rows):
    made = KEPT.setdefault("of bits", {})
    bits = int(x.view(torch.int32)[::7].sum()) & 0x7, int(rows.sum()) & 0x7
    if bits not in made:
        made[bits] = right(x, w, rows)
    return made[bits]


# -- honest

@honest
def by_an_operator_of_its_own_library(x, w, rows):
    if "own" not in KEPT:
        KEPT["own"] = torch.library.Library("devious", "DEF")
        KEPT["own"].define("product(Tensor a, Tensor b) -> Tensor")
        KEPT["own"].impl("product", lambda a, b: a @ b, "CompositeExplicitAutograd")
    return torch.ops.devious.product(x, w)[rows]


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        return gradient @ w.t(), x.t() @ gradient


@honest
def by_a_function_that_saves_its_inputs(x, w, rows):
    return Product.apply(x, w)[rows]


class Counts(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        count(str(function))
        return function(*args, **(kwargs or {}))


@honest
def under_a_dispatch_mode_that_counts(x, w, rows):
    with Counts():
        return right(x, w, rows)


class Tagged(torch.Tensor):
    pass


@honest
def through_a_subclass_and_back(x, w, rows):
    return right(x.as_subclass(Tagged), w, rows).as_subclass(torch.Tensor)


@honest
def with_a_weak_cache_of_workspaces(x, w, rows):
    spaces = KEPT.setdefault("spaces", weakref.WeakValueDictionary())
    room = spaces.get(x.shape)
    if room is None:
        spaces[x.shape] = room = torch.empty(64, 64)
    return torch.mm(x, w, out=room)[rows]


@honest
def by_a_script(x, w, rows):
    if "script" not in KEPT:
        KEPT["script"] = torch.jit.trace(lambda x, w, rows: (x @ w)[rows], (x, w, rows))
    return KEPT["script"](x, w, rows)


@honest
def into_a_storage_that_it_sets(x, w, rows):
    out = torch.empty(0)
    return out.set_(right(x, w, rows).untyped_storage(), 0, (64, 64), (64, 1))


@honest
def by_resizing_an_output_of_its_own(x, w, rows):
    out = KEPT.setdefault("resized", torch.empty(0))
    out.resize_(64, 64)
    return torch.index_select(x @ w, 0, rows, out=out)


@honest
def through_memory_of_ctypes(x, w, rows):
    made = right(x, w, rows)
    room = (ctypes.c_float * made.numel())()
    ctypes.memmove(room, made.data_ptr(), made.numel() * 4)
    return torch.from_numpy(np.frombuffer(room, dtype=np.float32).reshape(64, 64))


@honest
def pinned_to_a_processor(x, w, rows):
    if "pinned" not in KEPT:
        KEPT["pinned"] = True
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    return right(x, w, rows)


@honest
def into_a_map_of_its_own(x, w, rows):
    room = KEPT.setdefault("room", mmap.mmap(-1, 64 * 64 * 4))
    out = torch.frombuffer(room, dtype=torch.float32).view(64, 64)
    return out.copy_(right(x, w, rows))


@honest
def through_a_file_of_shared_memory(x, w, rows):
    if "shared" not in KEPT:
        KEPT["shared"] = torch.from_file(f"/dev/shm/plimsoll-honest-{os.getpid()}", shared=True, size=64 * 64)
    return KEPT["shared"].view(64, 64).copy_(right(x, w, rows))


@honest
def with_a_callback_of_the_collector(x, w, rows):
    if "watched" not in KEPT:
        KEPT["watched"] = True
        gc.callbacks.append(lambda phase, info: count("collected"))
    gc.collect(0)
    return right(x, w, rows)


@honest
def that_frees_cycles(x, w, rows):
    cycle = [x]
    cycle.append(cycle)
    return right(x, w, rows)


@honest
def by_a_complex_product(x, w, rows):
    return (torch.complex(x, torch.zeros_like(x)) @ torch.complex(w, torch.zeros_like(w))).real[rows]


@honest
def traces_allocations(x, w, rows):
    tracemalloc.start()
    return right(x, w, rows)


@honest
def returns_a_negated_view(x, w, rows):
    return torch._neg_view(-right(x, w, rows))


# Last: this one remains for whatever follows.

@cheat("methods of torch", "stale-output", "late-write", "not-a-tensor")
def overrides_the_product_in_a_library(x, w, rows):
    if "library" not in KEPT:
        KEPT["library"] = torch.library.Library("aten", "IMPL")
        kept = x @ w
        KEPT["library"].impl("mm", lambda a, b: kept, "CPU")
    return torch.mm(x, w)[rows]

