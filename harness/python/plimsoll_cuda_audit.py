"""Audited launches on a GPU: each runs on values drawn by the supervisor, between two events in its stream, and its output
is copied when the device has nothing left to do. Its stream is held before the first event, so that the device does not
wait for the host; the launch lasts as long as the host is in it if that is longer. How long the device continued after the
second event counts.

Everything that this module calls is bound before any kernel is loaded.
"""

import ctypes
import gc
import os
import sys
import types
from random import Random
from time import perf_counter_ns

import plimsoll_audit as audit
import plimsoll_cuda as cuda
import plimsoll_torch as backend
import torch
from plimsoll_audit import Values, turns_of, unrecorded  # noqa: F401
from plimsoll_outputs import BASE, PLAINLY, tensors_of

# How many elements of an output are copied behind a launch in its stream, and again at the end.
EARLY = 1024
# Values lie in the pinned buffer at multiples of this.
ALIGNED = 64


class Audited(audit.Audited):
    """A call that is resident on the device, to be launched in regions."""

    def __init__(self, call, backend, device):
        self.call, self.backend, self.device = call, backend, device
        self.inputs = cuda.Inputs(call, device, {})
        self.touched, self.changed = set(), set()
        device.hold_again()

    def region(self, worker, message, values):
        """The fields of a `region` message."""
        launches = message["launches"]
        first = values.at(max((sum(size for _, _, size in places) for places in launches), default=0))
        for storage, at, size in (*(place for places in launches for place in places), *message["contents"]):
            if at + size > self.call["storages"][storage]["bytes"]:
                raise backend.Refusal("input", "a value lies outside of its storage")
            self.inputs.storage(storage)
        self.touched.update(tuple(place) for places in launches for place in places)
        given = run(worker.kernel, self.inputs, launches, first, message["asks"], message["contents"], worker.outputs,
                    worker.process, self.device)
        # A kernel that writes to its arguments leaves values other than those put in.
        for storage, at, size in launches[-1] if launches else ():
            if content(self.inputs.rooms[storage], at, size) != ctypes.string_at(first, size):
                self.changed.add(storage)
            first += size
        self.inputs.check_described()
        return given

    def restore(self, storage, at, captured):
        text = ctypes.create_string_buffer(captured, len(captured))
        put(self.device, self.inputs.rooms, [(storage, at, len(captured))], ctypes.addressof(text))


def put(device, rooms, places, source, moved=ctypes.memmove):
    """Copies values, which follow each other in the host's memory, to their places on the device."""
    buffer, used = device.ring[0], 0
    with PLAINLY():
        for storage, at, size in places:
            for done in range(0, size, cuda.PART):
                part = min(cuda.PART, size - done)
                if used + part > cuda.PART:
                    device.finish()
                    used = 0
                moved(BASE.data_ptr(buffer) + used, source + done, part)
                target = BASE.narrow(rooms[storage], 0, at + done, part)
                BASE.copy_(target, BASE.narrow(buffer, 0, used, part), non_blocking=True)
                used += part + -part % ALIGNED
            source += size
    device.finish()


def content(room, at, size):
    """Bytes of a storage on the device."""
    host = torch.empty(size, dtype=torch.uint8)
    with PLAINLY():
        BASE.copy_(host, BASE.narrow(room, 0, at, size))
    return ctypes.string_at(host.data_ptr(), size)


def run(kernel, inputs, launches, first, asks, contents, outputs, process, device, unprofiled=sys.setprofile,
        untraced=sys.settrace, collects=gc.isenabled, collecting=gc.enable, uncollected=gc.disable, clock=perf_counter_ns):
    """Launches once per list of places, on values that the supervisor hands out when they are due, and keeps the outputs: all
    of them, or those that it asks for. Profilers and tracers end with the launch, as in plimsoll_audit.py."""
    durations, leaves, end, lates = [], [], 0, []
    turn, chance = turns_of(process), Random(os.urandom(16)).random
    start, stop = cuda.Timing(process, device).marks(2)
    for places in launches:
        unrecorded()
        turn()
        put(device, inputs.rooms, places, first)
        device.hold()
        start.record(device.stream)
        begun = clock()
        output = kernel(*inputs.args)
        unprofiled(None)
        untraced(None)
        host_ns = clock() - begun
        device.held(start, host_ns)
        collects_now = collects()
        uncollected()
        stop.record(device.stream)
        parts = [(tensor, chance()) for tensor in tensors_of(output)]
        early = [copied(tensor, part) for tensor, part in parts]
        late = device.late_us()
        lates += [late] if late else []
        durations.append(int(max(host_ns, start.elapsed_time(stop) * 1e6) + late * 1e3))
        process.check()
        if asks and not turn():
            outputs.check(output)
        else:
            kept, end = outputs.write_from(end, output)
            for storage, at, size in contents:
                os.pwrite(outputs.descriptor, content(inputs.rooms[storage], at, size), end)
                kept.append({"path": "", "tensor": {"dtype": "uint8", "shape": [size], "offset": end, "bytes": size}})
                end += size + -size % outputs.alignment
            leaves.append(kept)
        now = [copied(tensor, part) for tensor, part in parts]
        device.finish()
        if [bits(copy) for copy in early] != [bits(copy) for copy in now]:
            what = "its output still changed when the launch's stream had ended: work on another stream goes on writing"
            raise backend.Refusal("late-write", f"{what}; make the stream wait for it")
        if collects_now:
            collecting()
        output = None
    # Programs that share the device have their turn after some of the launches only.
    if len(launches) >= cuda.LEAST_LAUNCHES and 4 * len(lates) >= 3 * len(launches):
        raise cuda.Late(max(lates))
    return {"durations_ns": durations, "outputs": leaves}


def copied(tensor, part):
    """Elements of an output, copied behind the work in the stream. The first of them is chosen by `part`, from 0 to 1."""
    with PLAINLY():
        layout, count = BASE.layout.__get__(tensor), BASE.numel(tensor)
        if layout != torch.strided or BASE.is_meta.__get__(tensor) or not count:
            return None
        span = backend.extent(tensor) // BASE.element_size(tensor)
        size = min(EARLY, span)
        at = BASE.storage_offset(tensor) + int(part * (span - size + 1))
        host = torch.empty(size, dtype=BASE.dtype.__get__(tensor), pin_memory=True)
        return BASE.copy_(host, BASE.as_strided(tensor, (size,), (1,), at), non_blocking=True)


def bits(copy):
    """The bytes of a copy."""
    return copy is not None and ctypes.string_at(copy.data_ptr(), copy.numel() * copy.element_size())


def idle(launches, several, outputs, process, device):
    """Times a region of empty launches before any kernel is loaded, which shows the worker's own cost: each has one output, or
    several."""
    size = max((at + size for places in launches for _, at, size in places), default=0)
    target, result = (torch.ones(size, dtype=torch.uint8, device=device.name) for _ in range(2))
    source = ctypes.create_string_buffer(max(size, 1))
    inputs = types.SimpleNamespace(rooms=[target], args=())
    result = result if several == 1 else (result,) * several
    return run(lambda: result, inputs, launches, ctypes.addressof(source), False, (), outputs, process, device)
