"""Times launches in Plimsoll's Python worker: the protocols of src/timing, on the process's monotonic clock."""

import math
import os
from time import perf_counter_ns

import torch

PROTOCOLS = ("kernelforge", "samples", "cold", "until")
MOST_LAUNCHES = 10_000
LINE = 64
PROCESSORS = "/sys/devices/system/cpu"
UNKNOWN_FLUSH = 256 << 20


class Timing:
    """Times launches in this process, with nothing but the calls between the marks. The clock is a default argument,
    bound before any kernel is loaded, so that a kernel which replaces it in `time` or here is still timed correctly."""

    def __init__(self, process):
        self.process = process

    def timed(self, kernel, args, protocol):
        """The fields of a `timed` message that describe the measurement."""
        return getattr(self, protocol["name"])(kernel, args, protocol)

    def rounds(self, rounds):
        """The range of a launch loop. A child that the kernel forks clears it, and so ends with its launch."""
        self.process.rounds = rounds
        return rounds

    def kernelforge(self, kernel, args, protocol, perf_counter_ns=perf_counter_ns):
        launches = protocol["launches"]
        rounds = self.rounds([None] * launches)
        start = perf_counter_ns()
        for _ in rounds:
            kernel(*args)
        return samples([(perf_counter_ns() - start) / launches], launches_per_sample=launches)

    def samples(self, kernel, args, protocol):
        return samples(self.one_by_one(kernel, args, protocol["launches"]))

    def one_by_one(self, kernel, args, launches, perf_counter_ns=perf_counter_ns):
        rounds = self.rounds(list(range(1, launches + 1)))
        marks = [0] * (launches + 1)
        marks[0] = perf_counter_ns()
        for index in rounds:
            kernel(*args)
            marks[index] = perf_counter_ns()
        return [float(after - before) for before, after in zip(marks, marks[1:])]

    def cold(self, kernel, args, protocol, perf_counter_ns=perf_counter_ns):
        launches = protocol["launches"]
        cache = Cache(last_level_cache())
        rounds = self.rounds(list(range(launches)))
        starts, ends = [0] * launches, [0] * launches
        for index in rounds:
            cache.flush()
            starts[index] = perf_counter_ns()
            kernel(*args)
            ends[index] = perf_counter_ns()
        return samples([float(end - start) for start, end in zip(starts, ends)], flush=cache.description)

    def until(self, kernel, args, protocol):
        durations = []
        while True:
            more, stop = next_round(durations, protocol["launches"], protocol["relative_error"], protocol["time_ns"])
            if stop:
                return samples(durations, stop=stop)
            durations += self.one_by_one(kernel, args, more)
            self.process.check()


def samples(durations, launches_per_sample=1, **more):
    return {"launches_per_sample": launches_per_sample, "durations_ns": durations, **more}


def next_round(durations, fewest, relative_error, time_ns):
    """How many more launches to time, or why the measurement ends, by the rule of src/timing/until.rs: the error is the
    sample standard deviation over the mean and the square root of the number of launches."""
    count = len(durations)
    if count == 0:
        return 1, None
    mean = math.fsum(durations) / count
    deviation = None
    if count > 1:
        deviation = math.sqrt(math.fsum((duration - mean) ** 2 for duration in durations) / (count - 1))
    enough = deviation is not None and count >= min(fewest, MOST_LAUNCHES)
    if enough and deviation <= relative_error * mean * math.sqrt(count):
        return 0, "relative_error"
    left = time_ns - mean * count
    if left <= 0:
        return 0, "time"
    if count >= MOST_LAUNCHES:
        return 0, "launches"
    foretold = math.ceil((deviation / mean / relative_error) ** 2) if enough else fewest
    more = max(count // 8, min(count, foretold - count))
    in_time = int(left / mean) if mean > 0 else MOST_LAUNCHES
    return max(1, min(more, in_time, MOST_LAUNCHES - count)), None


class Cache:
    """The last-level cache of the CPU, emptied by a write to every line of a tensor twice its size, on PyTorch's
    threads. Each line is read and written, because a plain write of this size could bypass the cache."""

    def __init__(self, size):
        written = 2 * size if size else UNKNOWN_FLUSH
        self.description = {"written": written, **({"cache": size} if size else {})}
        self.lines = torch.zeros(written, dtype=torch.uint8, device="cpu")[::LINE]

    def flush(self):
        self.lines.add_(1)


def last_level_cache(processors=PROCESSORS):
    """The size of the largest data cache of the highest level, over all processors; None if the kernel does not report
    it."""
    largest = None
    for processor in listed(processors):
        caches = []
        for index in listed(os.path.join(processors, processor, "cache")):
            try:
                level, kind, size = (text(processors, processor, "cache", index, name)
                                     for name in ("level", "type", "size"))
                if kind != "Instruction" and size.endswith("K") and int(size[:-1]) > 0:
                    caches.append((int(level), int(size[:-1]) << 10))
            except (OSError, ValueError):
                continue
        if caches:
            largest = max(largest or 0, max(caches)[1])
    return largest


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def text(*path):
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read().strip()
