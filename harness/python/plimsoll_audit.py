"""Audited launches of Plimsoll's Python worker: each runs on values drawn by the supervisor, and its output is copied
on return.

Only the launch is timed. Writing the arguments before it and copying its output after it happen between launches.
Everything that this module calls is bound before any kernel is loaded.
"""

import ctypes
import errno
import gc
import mmap
import os
import random
import select
import sys
from _tracemalloc import stop as unrecorded
from functools import partial
from struct import Struct
from time import perf_counter_ns

try:
    from operator import call
except ImportError:  # Before Python 3.11.
    def call(step):
        return step()

import plimsoll_memory as memory
import torch
from plimsoll_outputs import BASE, PLAINLY, Refusal, tensors_of
from plimsoll_torch import Pieces, extent, unreadable

# How many words of an output are copied when its launch returns, and again when all of it was copied.
MARKS = 32
WORD = 8
# Outputs come after them.
KEPT = MARKS * WORD
# How many pieces of an output are overwritten once it is copied, and their most bytes.
SPOILED, PIECE = 8, 256
# A file of bytes to overwrite them with, which nobody can foresee.
NOISE = os.memfd_create("noise")
os.pwrite(NOISE, os.urandom(SPOILED * PIECE), 0)
# The most time that this may take for one tensor, and for each more.
NOTING_NS, NOTING_MORE_NS = 50_000, 20_000
# When a launch began, and how long it took.
TIME = Struct("<qq")
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

    def __init__(self, call, backend, device=None):
        self.call, self.backend = call, backend
        self.inputs = backend.Inputs(call, backend.Maps())
        self.starts = {}
        self.touched, self.changed = set(), set()

    def start(self, storage):
        """The address of a storage."""
        if storage not in self.starts:
            self.starts[storage] = self.inputs.storage(storage).data_ptr()
        return self.starts[storage]

    def region(self, worker, message, values):
        """The fields of a `region` message."""
        launches = message["launches"]
        first = values.at(max((sum(size for _, _, size in places) for places in launches), default=0))
        rounds = []
        for places in launches:
            puts, source = [], 0
            for storage, at, size in places:
                if at + size > self.call["storages"][storage]["bytes"]:
                    raise self.backend.Refusal("input", "a value lies outside of its storage")
                puts.append((self.start(storage) + at, source, size))
                source += size
            rounds.append(puts)
            self.touched.update(map(tuple, places))
        contents = [(self.start(storage) + at, size) for storage, at, size in message["contents"]]
        given = run(worker.kernel, self.inputs.args, rounds, message["asks"], contents, worker.outputs, worker.process, values.descriptor)
        # A kernel that writes to its arguments leaves values other than those put in.
        for (storage, _, _), (target, put, size) in zip(launches[-1] if launches else (), rounds[-1] if rounds else ()):
            if ctypes.string_at(target, size) != ctypes.string_at(first + put, size):
                self.changed.add(storage)
        self.inputs.check_described()
        return given

    def settle(self):
        """Restores the captured values, and returns the names of the arguments whose bytes the kernel has changed."""
        for storage, at, size in self.touched:
            place = self.call["storages"][storage]
            with open(place["path"], "rb") as file:
                captured = os.pread(file.fileno(), size, place["offset"] + at)
            self.restore(storage, at, captured)
        mutated = set(self.inputs.mutated())
        for name, value in zip(self.call["params"], self.call["args"]):
            if self.changed.intersection(self.backend.storages_of(value)):
                mutated.add(name)
        self.inputs.drop()
        return sorted(mutated)

    def restore(self, storage, at, captured):
        """Puts captured bytes back into a storage."""
        ctypes.memmove(self.start(storage) + at, captured, len(captured))


def run(kernel, args, rounds, asks, contents, outputs, process, values, clock=perf_counter_ns, put=memory.held.pread,
        unprofiled=sys.setprofile, untraced=sys.settrace, collects=gc.isenabled, collecting=gc.enable, uncollected=gc.disable, call=call):
    """Launches once per round, on values that the supervisor hands out when they are due, and keeps the outputs: all of them, or
    those that it asks for when their launches have returned. The first write to a page of shared memory can take longer than a
    launch, so room for outputs is made on demand and kept.

    Profilers and tracers of Python, of its allocations too, end with the launch that set them, and garbage is not collected until
    its output is copied: what they run would otherwise take no time. Whatever else runs before the output is looked at, such as a
    handler of a signal, counts as a part of the launch. Pieces of what was copied are overwritten: a kernel that returns the same
    memory again has to write all of it.

    The time at which a launch began is in no variable while it runs: a kernel may change the numbers that it finds in frames."""
    # Tracing slows whatever is done around a launch, too.
    unrecorded()
    steps = (clock, partial(kernel, *args), partial(unprofiled, None), partial(untraced, None), collects, uncollected, clock)
    # Bytes: a kernel may change the lists and the numbers that it finds.
    times, leaves, end = b"", [], KEPT
    turn = turns_of(process)
    places = iter(places_of(len(rounds)))
    given = [(first, first + extent(tensor)) for tensor, first in lying(tensors_of(tuple(args)))]
    for puts in rounds:
        turn()
        for target, source, size in puts:
            # The system writes them: memory that a kernel has protected, to compute when it is written, gives an error.
            if put(values, target, size, source) != size:
                what = "the memory of an argument cannot be written: the kernel has protected it, to run when the next values are put in"
                raise Refusal("mutated-input", f"{what}; leave the arguments' memory as it is")
        start, output, _, _, collects_now, _, stop = map(call, steps)
        unrecorded()
        words = next(places)
        marks = marked(output, words, outputs)
        late = max(0, clock() - stop - NOTING_NS - NOTING_MORE_NS * (len(marks) // KEPT)) + resolved(output, clock)
        times += TIME.pack(start, stop - start + late)
        start = stop = late = None
        process.check()
        if asks and not turn():
            outputs.check(output)
        else:
            kept, end = outputs.write_from(end, output)
            for address, size in contents:
                outputs.put(address, size, end)
                kept.append({"path": "", "tensor": {"dtype": "uint8", "shape": [size], "offset": end, "bytes": size}})
                end += size + -size % outputs.alignment
            leaves.append(kept)
        if marked(output, words, outputs) != marks:
            what = "its output still changed after the launch had returned: a thread or a process of the kernel goes on writing"
            raise Refusal("late-write", f"{what}; wait for it before the launch returns")
        spoil(output, words, given)
        if collects_now:
            collecting()
        output = None
    starts, durations = zip(*TIME.iter_unpack(times))
    return {"starts_ns": starts, "durations_ns": durations, "outputs": leaves}


class Poll(ctypes.Structure):
    """A descriptor to be polled, as the system has it."""

    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def turns_of(process, write=memory.held.write, read=memory.held.read, poll=memory.held.poll, error=ctypes.get_errno,
             again=errno.EINTR, readable=select.POLLIN):
    """A function that asks the supervisor for what comes next, and returns its answer. The interpreter is not given up meanwhile:
    a thread of the kernel that does not rest would have it for milliseconds."""
    descriptor, byte, waiting = process.turns, ctypes.create_string_buffer(1), Poll(process.turns, readable, 0)
    first, watched = ctypes.byref(byte), ctypes.byref(waiting)

    def turn():
        byte.value = b""
        while (done := write(descriptor, first, 1)) != 1:
            if done == 0 or error() != again:
                process.end(70)
        for _ in range(SPINS):
            if poll(watched, 1, 0):
                break
        while (done := read(descriptor, first, 1)) != 1:
            if done == 0 or error() != again:
                process.end(70)
        return byte.raw[0]

    return turn


def places_of(launches, chance=random.Random):
    """Where each launch's output is looked at, which a kernel cannot foresee by seeding the usual generator."""
    part = chance(os.urandom(16)).random
    return [[part() for _ in range(MARKS)] for _ in range(launches)]


def lying(tensors):
    """The tensors that have memory, each with its address."""
    for tensor in tensors:
        if BASE.layout.__get__(tensor) == torch.strided and BASE.numel(tensor) and not BASE.is_meta.__get__(tensor):
            yield tensor, BASE.data_ptr(tensor)


def marked(output, places, outputs, copied=memory.held.pwritev, read=memory.held.pread, error=ctypes.get_errno):
    """Words of an output, at these parts of its memory."""
    marks = b""
    tensors = tensors_of(output)
    with PLAINLY():
        for tensor, first in lying(tensors):
            words = extent(tensor) // WORD
            if not (first and words):
                continue
            parts = [number for part in places for number in (first + int(part * words) * WORD, WORD)]
            if copied(outputs.descriptor, (ctypes.c_uint64 * len(parts))(*parts), len(places), 0) != KEPT:
                raise unreadable(error() or errno.EFAULT)
            found = ctypes.create_string_buffer(KEPT)
            read(outputs.descriptor, found, KEPT, 0)
            marks += found.raw
    return marks


def spoil(output, places, given, noise=NOISE, overwrite=memory.held.preadv):
    """Overwrites pieces of an output, at these parts of it, unless it lies in the arguments' memory. Memory that cannot be written
    stays as it is."""
    pieces, tensors = [], tensors_of(output)
    with PLAINLY():
        for tensor, first in lying(tensors):
            last = first + extent(tensor)
            if not first or any(first < end and last > start for start, end in given):
                continue
            size = BASE.element_size(tensor)
            whole = Pieces(tuple(BASE.shape.__get__(tensor)), BASE.stride(tensor), size)
            for part in places[:SPOILED]:
                at = first
                for count, stride in whole.outer:
                    part *= count
                    at += int(part) * stride * size
                    part -= int(part)
                within = int(part * whole.run) // size * size
                pieces += [at + within, min(PIECE, whole.run - within)]
    for at in range(0, len(pieces), 2 * SPOILED):
        some = pieces[at:at + 2 * SPOILED]
        overwrite(noise, (ctypes.c_uint64 * len(some))(*some), len(some) // 2, 0)


def resolved(output, clock):
    """How long it takes to make what a lazily conjugated or negated output stands for: a part of the launch."""
    spent, tensors = 0, tensors_of(output)
    with PLAINLY():
        for tensor in tensors:
            if BASE.is_conj(tensor) or BASE.is_neg(tensor):
                begun = clock()
                BASE.resolve_neg(BASE.resolve_conj(tensor))
                spent += clock() - begun
    return spent


def idle(launches, several, outputs, process):
    """Times a region of empty launches before any kernel is loaded, which shows the worker's own cost: each has one output, or
    several."""
    size = max((at + size for places in launches for _, at, size in places), default=0)
    target, result = (torch.ones(size, dtype=torch.uint8, device="cpu") for _ in range(2))
    outputs.grow(size * several)
    rounds = [[(target.data_ptr() + at, at, size) for _, at, size in places] for places in launches]
    result = result if several == 1 else (result,) * several
    return run(lambda: result, (), rounds, False, (), outputs, process, outputs.descriptor)
