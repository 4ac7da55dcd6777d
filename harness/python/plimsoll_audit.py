"""Audited launches of Plimsoll's Python worker: each runs on values drawn by the supervisor, and its output is copied
on return.

Only the launch is timed. Writing the arguments before it and copying its output after it happen between launches.
Everything that this module calls is bound before any kernel is loaded.
"""

import ctypes
import mmap
import os
from time import perf_counter_ns

import plimsoll_memory as memory
import torch



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
        source = values.at(sum(size for places in launches for _, _, size in places))
        rounds = []
        for places in launches:
            puts = []
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


def run(kernel, args, rounds, keep, outputs, process, clock=perf_counter_ns, put=ctypes.memmove):
    """Launches once per round. The first write to a page of shared memory can take longer than a launch, and so can the
    first write of a region, so room for outputs is made on demand and kept."""
    durations, leaves, end, keep = [], [], 0, frozenset(keep)
    for index, puts in enumerate(rounds):
        for target, source, size in puts:
            put(target, source, size)
        start = clock()
        output = kernel(*args)
        durations.append(clock() - start)
        process.check()
        if index in keep:
            kept, end = outputs.write_from(end, output)
            leaves.append(kept)
        else:
            outputs.check(output)
        output = None
    return {"durations_ns": durations, "outputs": leaves}


def idle(launches, outputs, process):
    """Times a region of empty launches before any kernel is loaded, which shows the worker's own cost."""
    size = max((at + size for places in launches for _, at, size in places), default=0)
    source, target, result = (torch.ones(size, dtype=torch.uint8, device="cpu") for _ in range(3))
    rounds = [[(target.data_ptr() + at, source.data_ptr() + at, size) for _, at, size in places] for places in launches]
    return run(lambda: result, (), rounds, range(len(launches)), outputs, process)
