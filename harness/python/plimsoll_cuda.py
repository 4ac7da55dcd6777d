"""The GPU side of Plimsoll's Python worker: uploads arguments in parts and times launches with CUDA events.

Events, streams and the wait for the device are those of C, bound before any kernel is loaded, which could replace their
methods in `torch.cuda`.
"""

import ctypes
import itertools
import os
import random
from time import perf_counter_ns

import plimsoll_timing as timing
import plimsoll_torch as backend
import torch

PART = 16 << 20
# The step in bytes and the number of steps by which a storage can be shifted in its memory.
SHIFT, SHIFTS = 512, 127
# How much later all other work on the device may end, as in src/capture/gpu/idle.rs.
LATE_US = 20
# The same limit if the host waits, which may be delayed.
LATE_FOR_HOST_US = 2000
# How often the check is repeated with nothing launched, after it has found other work.
CONTROLS = 8
FLUSH_OF_DO_BENCH = 256 << 20
# How long a stream is held for a launch, by clocks of 2 GHz.
LEAST_HOLD_NS, MOST_HOLD_NS, CYCLES_PER_NS = 100_000, 2_000_000, 2
LIMIT_OF_STACK, SMALL_STACK = 0, 256
# How often work is run whose end the device passes, and the fewest launches of a region that show whether a kernel works
# on other streams.
TRIES, LEAST_LAUNCHES = 3, 3


class Late(backend.Refusal):
    """The device continued after the kernel's stream had ended: the kernel works on a stream of its own, or programs that
    share the device had their turn in between."""

    def __init__(self, late_us):
        super().__init__("late-write", f"the device continued for {late_us / 1e3:.3f} ms after the kernel's stream had ended: "
                                       "the kernel works on a stream of its own, for which nothing waits")


def repeated(run):
    """Runs something again if it is late. A kernel that works on a stream of its own is late every time."""
    for _ in range(TRIES - 1):
        try:
            return run()
        except Late:
            pass
    return run()


class Device:
    """A GPU, and the worker's state on it."""

    def __init__(self, index, small_context=False):
        if not torch.cuda.is_available():
            why = "sees no GPU" if torch.version.cuda else "is built without CUDA"
            text = f"torch {torch.__version__} {why}, and cuda:{index} was asked for{reason()}"
            raise backend.Refusal("unavailable", text)
        if index >= torch.cuda.device_count():
            count = torch.cuda.device_count()
            raise backend.Refusal("unavailable", f"there is no device cuda:{index}: torch knows {count}, counted from 0")
        self.index = index
        self.name = torch.device("cuda", index)
        torch.cuda.set_device(self.name)
        try:
            # The context is created first, because another process may leave no room for it later.
            self.ring = [torch.empty(PART, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
        except RuntimeError as error:
            if "busy or unavailable" not in str(error):
                raise
            text = f"cuda:{index} cannot be used: {error}; does another process own it " \
                   "(nvidia-smi -q -d COMPUTE)?"
            raise backend.Refusal("unavailable", text) from None
        self.event, self.raw_stream = torch._C._CudaEventBase, torch._C._cuda_getCurrentRawStream
        self.set_device, self.synchronize = torch._C._cuda_setDevice, torch._C._cuda_synchronize
        self.stream, self.set_stream = torch.cuda.current_stream(index), torch.cuda.set_stream
        self.copied = [self.event() for _ in self.ring]
        self.sleep, self.awake = torch._C._cuda_sleep, self.event()
        self.idle = Idle(self)
        self.hold_again()
        if small_context:
            keep_stack()
        # The memory of the previous call's storages by number: those of the next call reuse it.
        self.kept = {}
        self.shifts = itertools.cycle(random.SystemRandom().sample(range(1, SHIFTS + 1), SHIFTS))

    def shift(self):
        """A shift that storages have not had before, or not recently."""
        return SHIFT * next(self.shifts)

    def release(self):
        self.kept.clear()

    def upload(self, place, room):
        """Uploads a storage from its file: while the device copies from one buffer, the next part is read into the
        other."""
        with opened(place) as file:
            for turn, at in enumerate(range(0, place["bytes"], PART)):
                size = min(PART, place["bytes"] - at)
                buffer, copied = self.ring[turn % 2], self.copied[turn % 2]
                copied.synchronize()
                read_into(file, place, at, buffer, size)
                room[at:at + size].copy_(buffer[:size], non_blocking=True)
                copied.record(self.stream)
        self.finish()

    def changed(self, place, room):
        """Whether a storage differs from its file."""
        buffer = self.ring[0]
        with opened(place) as file:
            for at in range(0, place["bytes"], PART):
                size = min(PART, place["bytes"] - at)
                buffer[:size].copy_(room[at:at + size])
                if ctypes.string_at(buffer.data_ptr(), size) != os.pread(file.fileno(), size, place["offset"] + at):
                    return True
        return False

    def finish(self):
        """Waits until the device is idle, and raises any error of a launch on it."""
        self.set_device(self.index)
        self.synchronize()

    def settle(self):
        """Waits for the end of the stream and of all other work on the device, which should have ended with it."""
        late = self.late_us()
        if late:
            raise Late(late)

    def late_us(self):
        """Waits like `settle`; returns how many microseconds the device continued, or 0 if it ended with the stream."""
        if self.raw_stream(self.index) != self.stream.cuda_stream:
            self.set_stream(self.stream)
            text = "the kernel leaves a different stream current than the one that it was called in, so that the marks do not " \
                   "enclose its work; set it within `with torch.cuda.stream(..)`"
            raise backend.Refusal("late-write", text)
        return self.idle.late_us()

    def hold_again(self):
        """Lets the next launches be held."""
        self.hold_ns, self.held_too_short = LEAST_HOLD_NS, 0

    def hold(self):
        """Keeps the device busy for a while in which a launch can be given to it. All streams wait, so that a kernel
        computes nothing on another one meanwhile; a driver that cannot make them wait holds none."""
        if not self.hold_ns:
            return
        self.sleep(self.hold_ns * CYCLES_PER_NS)
        self.awake.record(self.stream)
        if not self.idle.of_all("cuCtxWaitEvent", self.awake):
            self.hold_ns = 0
            self.finish()

    def held(self, start, host_ns):
        """Notes how long a launch was under way on the host, when it has returned. The next one is held twice as long. A
        kernel that waits for its stream reaches the mark at its start first, every time, and is not held any more."""
        self.held_too_short = self.held_too_short + 1 if start.query() else 0
        if self.hold_ns:
            self.hold_ns = max(LEAST_HOLD_NS, min(2 * host_ns, MOST_HOLD_NS)) if self.held_too_short < 3 else 0

    def memory(self):
        """The allocator's bytes, and the memory in use on the device."""
        free, total = torch.cuda.mem_get_info(self.index)
        return total - free


class Room:
    """Memory for a storage, which begins at its shift, and whether it holds the content of the file."""

    def __init__(self, size, device):
        self.memory = torch.empty(size + SHIFT * SHIFTS, dtype=torch.uint8, device=device)
        self.size, self.shift, self.holds = size, 0, False

    def bytes(self):
        return self.memory[self.shift:self.shift + self.size]


class Idle:
    """Checks whether a stream that has ended was all that the device was doing, like src/capture/gpu/idle.rs: an
    otherwise idle stream waits for the driver's event of a whole context, which shows how long the device continued."""

    def __init__(self, device):
        self.device = device
        self.whole = device.event()
        self.end, self.all = (device.event(enable_timing=True) for _ in range(2))
        self.aside = torch.cuda.Stream(device.index)
        for event in (self.whole, self.end, self.all):
            # The driver creates the event when it is first recorded.
            event.record(self.aside)
        device.finish()
        # CUDA 12.5 introduced events for a whole context.
        self.driver = driver("cuCtxRecordEvent")

    def late_us(self, controls=range(CONTROLS)):
        """How many microseconds the device continued after the stream had ended, if that is above the limit. If other
        programs have their turns on the device, a check of nothing finds as much: then nobody knows."""
        late, limit = self.continued_us()
        if late <= limit:
            return 0
        for _ in controls:
            self.device.finish()
            again, limit = self.continued_us()
            if again > limit:
                return 0
        return late

    def continued_us(self, limit=LATE_US, limit_for_host=LATE_FOR_HOST_US):
        """How many microseconds the device continued after the stream had ended, and the limit."""
        recorded = self.record_all()
        self.end.record(self.device.stream)
        self.end.synchronize()
        if recorded:
            self.all.synchronize()
            return self.end.elapsed_time(self.all) * 1e3, limit
        start = perf_counter_ns()
        self.device.finish()
        return (perf_counter_ns() - start) / 1e3, limit_for_host

    def record_all(self):
        """Records an event after all work given to the device, before the one at the end of the stream. However late
        the host reaches that one, a device without other work reaches it last. False if the driver cannot."""
        if not self.of_all("cuCtxRecordEvent", self.whole):
            return False
        self.whole.wait(self.aside)
        self.all.record(self.aside)
        return True

    def of_all(self, function, event):
        """Whether the driver has recorded an event of the whole context, or has made the context wait for it."""
        context = ctypes.c_void_p()
        if not self.driver or self.driver.cuCtxGetCurrent(ctypes.byref(context)) != 0:
            return False
        return getattr(self.driver, function)(context, ctypes.c_void_p(event.cuda_event)) == 0


def driver(function):
    """The driver's library, if it has this function."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        return library if getattr(library, function) else None
    except (OSError, AttributeError):
        return None


def keep_stack():
    """Makes the context keep little stack for each thread that the device can run, like src/capture/gpu/context.rs: the
    usual 1 KiB amounts to 264 MiB on an H200. A driver that refuses the limit keeps its own."""
    library = driver("cuCtxSetLimit")
    if library:
        library.cuCtxSetLimit(LIMIT_OF_STACK, ctypes.c_size_t(SMALL_STACK))


def reason():
    """Why torch sees no GPU, in torch's own words."""
    try:
        torch.cuda.init()
    except Exception as error:
        return f": {str(error).splitlines()[0]}"
    return ""


def opened(place):
    """Opens the file of a storage, which must contain all of it."""
    path, end = place["path"], place["offset"] + place["bytes"]
    try:
        file = open(path, "rb", buffering=0)
    except OSError as error:
        raise backend.Refusal("input", f"{path} cannot be read: {error}") from None
    size = os.fstat(file.fileno()).st_size
    if size < end:
        file.close()
        text = f"{path} has {size} bytes, and a storage of it ends at {end}: the file was cut short"
        raise backend.Refusal("input", text)
    return file


def read_into(file, place, at, buffer, size):
    """Reads a part of a storage into a buffer of the host."""
    view = memoryview((ctypes.c_ubyte * size).from_address(buffer.data_ptr()))
    done = 0
    while done < size:
        count = os.preadv(file.fileno(), [view[done:]], place["offset"] + at + done)
        if count == 0:
            raise backend.Refusal("input", f"{place['path']} shrank while it was read")
        done += count


class Inputs(backend.Inputs):
    """The values of one call on the device. Calls of a batch share `rooms`, which are uploaded again if their content
    changed or if they should begin at another shift; without `rooms`, the memory of the previous call is reused."""

    def __init__(self, call, device, rooms=None, shift=None):
        self.device = device.name
        self.gpu = device
        self.storages = [None] * len(call["storages"])
        self.places = call["storages"]
        self.call = call
        # The memory and position of each storage.
        self.rooms, self.held = [None] * len(call["storages"]), []
        self.shared, self.shift = rooms, shift
        self.args = [self.value(value) for value in call["args"]]
        self.described = [backend.description(value) for value in self.args]

    def storage(self, index):
        if self.storages[index] is None:
            self.held.append(self.room(index))
            self.rooms[index] = self.held[-1].bytes()
            self.storages[index] = self.rooms[index].untyped_storage()
        return self.storages[index]

    def room(self, index):
        """The memory of a storage, with the content of its file."""
        place = self.places[index]
        rooms, key = self.gpu.kept, index
        if self.shared is not None:
            rooms, key = self.shared, (place["path"], place["offset"], place["bytes"])
        room = rooms.get(key)
        if room is None or room.size != place["bytes"]:
            # The previous one is freed first.
            room = None
            rooms.pop(key, None)
            room = rooms[key] = Room(place["bytes"], self.device)
        elif self.shared is not None and self.shift is None and room.holds:
            return room
        room.shift, room.holds = self.shift or 0, False
        self.gpu.upload(place, room.bytes())
        room.holds = True
        return room

    def start(self, index, dtype):
        room = self.rooms[index]
        return 0 if room is None else room.storage_offset() // dtype.itemsize

    def bytes(self):
        """The bytes of the call's storages."""
        return sum(room.numel() for room in self.rooms if room is not None)

    def mutated(self):
        """The names of the arguments whose bytes the kernel has changed."""
        self.check_described()
        changed = {index for index, room in enumerate(self.rooms)
                   if room is not None and self.gpu.changed(self.places[index], room)}
        named = zip(self.call["params"], self.call["args"])
        return [name for name, value in named if changed.intersection(backend.storages_of(value))]

    def restore(self):
        """Undoes writes to the storages, because calls of a batch share them."""
        for place, room in zip(self.places, self.rooms):
            if room is not None:
                self.gpu.upload(place, room)

    def drop(self):
        """Drops the inputs. Rooms of a batch are freed with it; the next batch cannot rely on what launches left in
        them."""
        for room in self.held:
            room.holds = False


def launched(kernel, inputs, device):
    """Runs one launch to its end on the device; returns its output, its nanoseconds, and the device memory it took."""
    device.finish()
    before, live = device.memory(), torch.cuda.memory_allocated(device.index)
    torch.cuda.reset_peak_memory_stats(device.index)
    start = perf_counter_ns()
    output = kernel(*inputs.args)
    device.settle()
    elapsed = perf_counter_ns() - start
    tensors = [leaf for _, leaf in backend.flattened(output, "") if isinstance(leaf, torch.Tensor)]
    stats = torch.cuda.memory_stats(device.index)
    names = {"allocated": "allocated_bytes.all.current", "allocated_peak": "allocated_bytes.all.peak",
             "reserved": "reserved_bytes.all.current", "reserved_peak": "reserved_bytes.all.peak"}
    return output, elapsed, {
        "inputs": inputs.bytes(),
        "outputs": sum(tensor.numel() * tensor.element_size() for tensor in tensors),
        "growth": max(0, device.memory() - before),
        "allocator": {**{name: stats.get(key, 0) for name, key in names.items()},
                      "workspace": max(0, stats.get(names["allocated_peak"], 0) - live - fresh(tensors, inputs))},
    }


def fresh(tensors, inputs):
    """The bytes under outputs that are not inputs."""
    storages = {storage.data_ptr(): storage.nbytes() for storage in (tensor.untyped_storage() for tensor in tensors)}
    for room in inputs.rooms:
        if room is not None:
            storages.pop(room.data_ptr(), None)
    return sum(storages.values())


class Timing(timing.Timing):
    """Times launches: marks are events in the current stream, and times come from the device."""

    def __init__(self, process, device):
        super().__init__(process)
        self.device = device

    def marks(self, count):
        marks = [self.device.event(enable_timing=True) for _ in range(count)]
        for mark in marks:
            # The driver creates the event when it is first recorded, which would take host time between two launches.
            mark.record(self.device.stream)
        self.device.finish()
        return marks

    def kernelforge(self, kernel, args, protocol):
        launches = protocol["launches"]
        rounds = self.rounds([None] * launches)
        start, end = self.marks(2)
        start.record(self.device.stream)
        for _ in rounds:
            kernel(*args)
        end.record(self.device.stream)
        self.device.settle()
        return timing.samples([start.elapsed_time(end) * 1e6 / launches], launches_per_sample=launches)

    def one_by_one(self, kernel, args, launches):
        marks = self.marks(launches + 1)
        rounds = self.rounds(marks[1:])
        marks[0].record(self.device.stream)
        for mark in rounds:
            kernel(*args)
            mark.record(self.device.stream)
        self.device.settle()
        return [before.elapsed_time(after) * 1e6 for before, after in zip(marks, marks[1:])]

    def cold(self, kernel, args, protocol):
        launches = protocol["launches"]
        size = torch.cuda.get_device_properties(self.device.index).L2_cache_size
        # As in src/timing/cache.rs: at least as much as do_bench, so that the flush hides the host's own time.
        written = max(2 * size, FLUSH_OF_DO_BENCH)
        cache = torch.empty(written, dtype=torch.uint8, device=self.device.name)
        starts, ends = self.marks(launches), self.marks(launches)
        rounds = self.rounds(list(range(launches)))
        for index in rounds:
            cache.zero_()
            starts[index].record(self.device.stream)
            kernel(*args)
            ends[index].record(self.device.stream)
        self.device.settle()
        durations = [start.elapsed_time(end) * 1e6 for start, end in zip(starts, ends)]
        return timing.samples(durations, flush={"written": written, **({"cache": size} if size else {})})
