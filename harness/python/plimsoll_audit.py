"""Audited launches of Plimsoll's Python worker: each runs on values drawn by the supervisor, and its output is copied
on return.

Only the launch is timed. Writing the arguments before it and copying its output after it happen between launches.
Everything that this module calls is bound before any kernel is loaded.
"""

import ctypes
import gc
import mmap
import os
import random
import select
import sys
from time import perf_counter_ns

import plimsoll_memory as memory
import torch
from plimsoll_outputs import BASE, PLAINLY, Refusal, flattened

# Copying an output of this size takes long enough for a thread to write ahead of it.
LARGE = 64 << 10
# How many words of a large output are read when its launch returns, and again when it is copied.
MARKS = 32
WORD = 8
# How often to look for values before sleeping: a processor that sleeps between two launches has other data in its caches.
SPINS = 100


class Values:
    """The shared memory that holds the values."""

    def __init__(self, descriptor):
        self.descriptor, self.address, self.size = descriptor, 0, 0

    def at(self, bytes):
        """The address of its first bytes."""
        if bytes > self.size:
            if self.size:
                memory.libc.munmap(self.address, self.size)
            self.size = os.fstat(self.descriptor).st_size
            self.address = memory.mapped(None, self.size, mmap.PROT_READ, mmap.MAP_SHARED, self.descriptor)
        return self.address


class Audited:
    """A resident call, to be launched in regions."""

    def __init__(self, call, backend):
        self.call, self.backend = call, backend
        self.inputs = backend.Inputs(call, backend.Maps())
        self.starts = {}
        self.touched, self.changed = set(), set()

    def start(self, storage):
        """The address of a storage."""
        if storage not in self.starts:
            self.starts[storage] = self.inputs.storage(storage).data_ptr()
        return self.starts[storage]

    def region(self, worker, launches, keep, values):
        """The fields of a `region` message."""
        first = values.at(max((sum(size for _, _, size in places) for places in launches), default=0))
        rounds = []
        for places in launches:
            puts, source = [], first
            for storage, at, size in places:
                if at + size > self.call["storages"][storage]["bytes"]:
                    raise self.backend.Refusal("input", "a value lies outside of its storage")
                puts.append((self.start(storage) + at, source, size))
                source += size
            rounds.append(puts)
            self.touched.update(map(tuple, places))
        given = run(worker.kernel, self.inputs.args, rounds, keep, worker.outputs, worker.process)
        # A kernel that writes to its arguments leaves values other than those put in.
        for (storage, _, _), (target, put, size) in zip(launches[-1] if launches else (), rounds[-1] if rounds else ()):
            if ctypes.string_at(target, size) != ctypes.string_at(put, size):
                self.changed.add(storage)
        self.inputs.check_described()
        return given

    def settle(self):
        """Restores the captured values, and returns the names of the arguments whose bytes the kernel has changed."""
        for storage, at, size in self.touched:
            place = self.call["storages"][storage]
            with open(place["path"], "rb") as file:
                captured = os.pread(file.fileno(), size, place["offset"] + at)
            ctypes.memmove(self.start(storage) + at, captured, len(captured))
        mutated = set(self.inputs.mutated())
        for name, value in zip(self.call["params"], self.call["args"]):
            if self.changed.intersection(self.backend.storages_of(value)):
                mutated.add(name)
        self.inputs.drop()
        return sorted(mutated)


def run(kernel, args, rounds, keep, outputs, process, clock=perf_counter_ns, put=ctypes.memmove, unprofiled=sys.setprofile,
        untraced=sys.settrace, collects=gc.isenabled, collecting=gc.enable, uncollected=gc.disable, ask=os.write, await_values=os.read, is_there=None):
    """Launches once per round, on values that the supervisor hands out when they are due. The first write to a page of shared memory can take longer than a launch, and so can the
    first write of a region, so room for outputs is made on demand and kept.

    Profilers and tracers of Python end with the launch that set them, and garbage is not collected until its output is
    copied: what they run would otherwise take no time."""
    durations, leaves, end, keep = [], [], 0, frozenset(keep)
    is_there = is_there or awaited(process.turns)
    places = places_of(len(rounds))
    for index, puts in enumerate(rounds):
        ask(process.turns, b"\0")
        for _ in range(SPINS):
            if is_there(0):
                break
        if not await_values(process.turns, 1):
            process.end(70)
        for target, source, size in puts:
            put(target, source, size)
        start = clock()
        output = kernel(*args)
        unprofiled(None)
        untraced(None)
        collects_now = collects()
        uncollected()
        durations.append(clock() - start)
        marks = marked(output, places[index])
        process.check()
        if index in keep:
            kept, end = outputs.write_from(end, output)
            leaves.append(kept)
        else:
            outputs.check(output)
        if marks and marked(output, places[index]) != marks:
            what = "its output still changed after the launch had returned: a thread or a process of the kernel goes on writing"
            raise Refusal("late-write", f"{what}; wait for it before the launch returns")
        if collects_now:
            collecting()
        output = None
    return {"durations_ns": durations, "outputs": leaves}


def awaited(descriptor, poll=select.poll, readable=select.POLLIN):
    """A function that says whether a descriptor can be read, after at most so many milliseconds."""
    waiting = poll()
    waiting.register(descriptor, readable)
    return waiting.poll


def places_of(launches, chance=random.Random):
    """Where each launch's output is looked at, which a kernel cannot foresee by seeding the usual generator."""
    part = chance(os.urandom(16)).random
    return [[part() for _ in range(MARKS)] for _ in range(launches)]


def marked(output, places):
    """Words of a large output, at these parts of its memory."""
    if type(output) is torch.Tensor:
        tensors = [output]
    else:
        tensors = [leaf for _, leaf in flattened(output, "") if isinstance(leaf, torch.Tensor)]
    marks = []
    with PLAINLY():
        for tensor in tensors:
            if BASE.numel(tensor) * BASE.element_size(tensor) < LARGE or BASE.layout.__get__(tensor) != torch.strided:
                continue
            first = BASE.data_ptr(tensor)
            words = reach(BASE.shape.__get__(tensor), BASE.stride(tensor)) * BASE.element_size(tensor) // WORD
            marks += [ctypes.string_at(first + int(part * words) * WORD, WORD) for part in places] if first else []
    return marks


def reach(shape, strides):
    """The number of elements from the first of a tensor to its last."""
    return 1 + sum((count - 1) * stride for count, stride in zip(shape, strides))


def idle(launches, outputs, process):
    """Times a region of empty launches before any kernel is loaded, which shows the worker's own cost."""
    size = max((at + size for places in launches for _, at, size in places), default=0)
    source, target, result = (torch.ones(size, dtype=torch.uint8, device="cpu") for _ in range(3))
    rounds = [[(target.data_ptr() + at, source.data_ptr() + at, size) for _, at, size in places] for places in launches]
    return run(lambda: result, (), rounds, range(len(launches)), outputs, process)
