"""Tests of the Python worker's GPU side without a GPU: `torch.cuda` is emulated on the CPU, with its streams in order
with the host. The tests show that the worker asks torch for the right things; they say nothing about speed, or about
torch's own part. Run: python -m unittest discover tests/python"""

import errno
import itertools
import os
import socket
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "harness", "python"))
import plimsoll_cuda  # noqa: E402
import plimsoll_cuda_audit  # noqa: E402
import plimsoll_sources  # noqa: E402
import plimsoll_stale  # noqa: E402
import plimsoll_torch  # noqa: E402
import plimsoll_worker  # noqa: E402

STATS = ("allocated_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.current", "reserved_bytes.all.peak")
TABLE, INDICES = torch.arange(64 * 8, dtype=torch.float32).reshape(64, 8), torch.tensor([3, 1, 63])


class Stream:
    def __init__(self, number=1):
        self.cuda_stream, self.waits_for = number, None


class Event:
    cuda_event, reached = 12345, False

    def __init__(self, enable_timing=False):
        self.timed, self.at = enable_timing, None

    def record(self, stream):
        self.at = stream.waits_for.at if stream.waits_for else time.perf_counter_ns()

    def wait(self, stream):
        stream.waits_for = self

    def query(self):
        return self.reached

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        if not (self.timed and end.timed):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        return (end.at - self.at) / 1e6


class Driver:
    """The driver's functions, with the event of a whole context: other work ends later by set times."""

    def __init__(self, device):
        self.device, self.later_ns, self.refuses, self.waits = device, itertools.repeat(0), False, 0

    def cuCtxGetCurrent(self, context):
        return 0

    def cuCtxRecordEvent(self, context, event):
        assert event.value == Event.cuda_event
        self.device.idle.whole.at = time.perf_counter_ns() + next(self.later_ns)
        return 801 if self.refuses else 0

    def cuCtxWaitEvent(self, context, event):
        self.waits += 1
        return 801 if self.refuses else 0


class Cuda:
    """The part of torch.cuda that the worker uses, for a device whose memory is the host's."""

    def __init__(self):
        self.current, self.lost, self.waits_ns, self.waited_ns, self.held = Stream(0), None, 0, 0, []

    def Stream(self, device):
        return Stream()

    def is_available(self):
        return True

    def is_initialized(self):
        return True

    def device_count(self):
        return 1

    def set_device(self, device):
        pass

    def current_stream(self, device=None):
        return self.current

    def set_stream(self, stream):
        self.current = stream

    def synchronize(self, device=None):
        if self.lost:
            raise RuntimeError(self.lost)
        self.waited_ns += self.waits_ns
        self.waits_ns = 0

    def mem_get_info(self, device):
        return 1 << 30, 2 << 30

    def memory_allocated(self, device):
        return 0

    def reset_peak_memory_stats(self, device):
        pass

    def memory_stats(self, device):
        return dict.fromkeys(STATS, 4096)

    def get_device_properties(self, device):
        return types.SimpleNamespace(L2_cache_size=50 << 20)

    OutOfMemoryError = torch.cuda.OutOfMemoryError


class Torch:
    """torch, with the device's tensors on the CPU."""

    def __init__(self, cuda):
        self.cuda = cuda
        self.sizes = []
        own = {"_CudaEventBase": Event, "_cuda_getCurrentRawStream": lambda index: cuda.current.cuda_stream,
               "_cuda_sleep": cuda.held.append, "_cuda_setDevice": cuda.set_device, "_cuda_synchronize": cuda.synchronize}
        self._C = types.SimpleNamespace(**{**vars(torch._C), **own})

    def __getattr__(self, name):
        return getattr(torch, name)

    def device(self, kind, index=None):
        return torch.device("cpu")

    def empty(self, size, pin_memory=False, **more):
        self.sizes.append(size)
        return torch.empty(size, **more)


class Process:
    rounds, stray, outputs = (), [0], None

    def check(self):
        pass

    def flush(self):
        pass


class Channel(list):
    """Messages to a nonexistent supervisor."""

    def send(self, type, **fields):
        self.append((type, fields))


class OnDevice(unittest.TestCase):
    def setUp(self):
        self.cuda = Cuda()
        self.torch = Torch(self.cuda)
        patches = [mock.patch.object(module, "torch", self.torch)
                   for module in (plimsoll_cuda, plimsoll_cuda_audit, plimsoll_torch)]
        # The system cannot read the memory of a device.
        self.assertTrue(plimsoll_torch.on_host(TABLE))
        patches.append(mock.patch.object(plimsoll_torch, "on_host", lambda tensor: False))
        patches.append(mock.patch.object(plimsoll_torch.memory, "put", lambda *_: errno.EFAULT))
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "storages")
        with open(self.path, "wb") as file:
            file.write(TABLE.numpy().tobytes() + INDICES.numpy().tobytes())
        self.device = plimsoll_cuda.Device(0)
        self.driver = self.device.idle.driver = Driver(self.device)

    def call(self):
        def tensor(number, of):
            layout = {"dtype": str(of.dtype)[6:], "shape": list(of.shape), "strides": list(of.stride()), "offset": 0}
            return {"tensor": {"storage": number, "layout": layout}}

        table, indices = TABLE.nbytes, INDICES.nbytes
        places = [{"path": self.path, "offset": 0, "bytes": table}, {"path": self.path, "offset": table, "bytes": indices}]
        return {"storages": places, "params": ["input", "weight"], "args": [tensor(1, INDICES), tensor(0, TABLE)]}

    def timed(self, protocol, kernel=torch.nn.functional.embedding):
        inputs = plimsoll_cuda.Inputs(self.call(), self.device, {})
        timing = plimsoll_cuda.Timing(Process(), self.device)
        more = {"relative_error": 0.5, "time_ns": 10**9} if protocol == "until" else {}
        return timing.timed(kernel, inputs.args, {"name": protocol, "launches": 3, **more})

    def late_once(self, times=None):
        """Nanoseconds by which a kernel's work is late, and none for the checks in which nothing is launched."""
        once = [10**12] + [0] * plimsoll_cuda.CONTROLS
        return itertools.cycle(once) if times is None else iter(once * times)

    def refused(self, kind, function, *arguments):
        with self.assertRaises(plimsoll_torch.Refusal) as raised:
            function(*arguments)
        self.assertEqual(raised.exception.kind, kind)
        return str(raised.exception)

    def test_a_launch_gives_its_output_and_what_it_took(self):
        inputs = plimsoll_cuda.Inputs(self.call(), self.device)
        output, elapsed, taken = plimsoll_cuda.launched(torch.nn.functional.embedding, inputs, self.device)
        self.assertTrue(torch.equal(output, TABLE[INDICES]))
        self.assertEqual((taken["inputs"], taken["outputs"]), (TABLE.nbytes + INDICES.nbytes, output.nbytes))
        self.assertTrue(elapsed > 0 and taken["growth"] == 0 and taken["allocator"]["allocated"] == 4096)
        self.assertEqual(inputs.mutated(), [])
        inputs.args[1][5, 5] += 1
        self.assertEqual(inputs.mutated(), ["weight"])

    def test_every_protocol_times_launches(self):
        for protocol, count in ("kernelforge", 1), ("samples", 3), ("cold", 3):
            timed = self.timed(protocol)
            self.assertEqual(len(timed["durations_ns"]), count)
            self.assertTrue(all(duration > 0 for duration in timed["durations_ns"]), protocol)
        self.assertEqual(timed["flush"], {"written": 256 << 20, "cache": 50 << 20})
        self.assertIn(256 << 20, self.torch.sizes)
        self.assertIn(self.timed("until")["stop"], ("relative_error", "time", "launches"))

    def test_work_that_the_marks_do_not_stand_around_is_refused(self):
        def leaves(*args):
            self.cuda.current = Stream(7)
            return torch.nn.functional.embedding(*args)

        for protocol in plimsoll_cuda.timing.PROTOCOLS:
            self.assertIn("leaves a different stream current", self.refused("late-write", self.timed, protocol, leaves))
            self.assertIs(self.cuda.current, self.device.stream)

        self.driver.later_ns = self.late_once()
        self.assertIn("the device continued for", self.refused("late-write", self.timed, "kernelforge"))
        # If the driver refuses the event, or lacks it, the host waits.
        def goes_on(*args):
            self.cuda.waits_ns = 5_000_000
            return torch.nn.functional.embedding(*args)

        # A busy machine delays the checks of nothing, which excuses the kernel.
        with mock.patch.object(plimsoll_cuda, "perf_counter_ns", lambda: self.cuda.waited_ns):
            self.driver.refuses = True
            self.assertIn("the device continued for", self.refused("late-write", self.timed, "kernelforge", goes_on))
            self.device.idle.driver = None
            self.assertIn("the device continued for", self.refused("late-write", self.timed, "kernelforge", goes_on))

    def test_programs_that_share_the_device_accuse_no_kernel(self):
        def timed():
            return plimsoll_cuda.repeated(lambda: self.timed("kernelforge"))

        kernel, launches = torch.nn.functional.embedding, [torch.ones(8)] * 4
        # A check of nothing is late, too.
        self.driver.later_ns = itertools.repeat(10**12)
        self.assertTrue(self.timed("kernelforge") and self.audited(kernel, launches))
        # One that is late once is repeated, and the time until the device is idle counts in an audit.
        self.driver.later_ns = itertools.chain(self.late_once(1), itertools.repeat(0))
        self.assertTrue(timed())
        self.driver.later_ns = itertools.chain(self.late_once(1), itertools.repeat(0))
        late = [duration > 10**11 for duration in self.audited(kernel, launches)[1]]
        self.assertEqual(late, [True, False, False, False])
        self.driver.later_ns = self.late_once()
        self.refused("late-write", timed)
        self.refused("late-write", self.audited, kernel, launches)

    def test_a_result_that_is_kept_by_address_is_told_and_shared_storages_stay_as_they_were(self):
        embedding, kept, seen = torch.nn.functional.embedding, {}, []

        def keeps(indices, table):
            seen.append(table.data_ptr())
            key = indices.data_ptr(), table.data_ptr()
            return kept.setdefault(key, embedding(indices, table))

        def adds(indices, table):
            table.add_(1)
            return embedding(indices, table)

        memfd = os.memfd_create("outputs")
        self.addCleanup(os.close, memfd)
        rooms = {}
        for kernel, mutated in ((keeps, []), (embedding, []), (adds, ["weight"])):
            inputs = plimsoll_cuda.Inputs(self.call(), self.device, rooms)
            kernel(*inputs.args)
            trial = plimsoll_stale.Trial(lambda inputs: kernel(*inputs.args), plimsoll_torch.Outputs(memfd))
            trial.at_timed(inputs, mutated)
            self.assertTrue(torch.equal(inputs.args[1], TABLE), "other calls of the batch have this storage, too")
            elsewhere = lambda: plimsoll_cuda.Inputs(self.call(), self.device, rooms, self.device.shift())  # noqa: E731
            inputs.drop()
            if kernel is keeps:
                self.assertIn("keeps results by address", self.refused("stale-output", trial.elsewhere, elsewhere))
                # The first three at the timed addresses, each of the others at its own place in the same memory.
                self.assertEqual((len(set(seen[:3])), len(set(seen))), (1, 1 + len(seen[3:])))
                self.assertLessEqual(max(seen) - min(seen), plimsoll_cuda.SHIFT * plimsoll_cuda.SHIFTS)
            else:
                trial.elsewhere(elsewhere)

    def test_a_profile_takes_the_memory_of_its_storages_once_wherever_launches_have_them(self):
        seen = []

        def adds(indices, table):
            seen.append((table.data_ptr(), table[0, 0].item()))
            output = torch.nn.functional.embedding(indices, table)
            table.add_(1)
            return output

        for kernel in adds, torch.nn.functional.embedding:
            process, channel = Process(), Channel()
            process.outputs = os.memfd_create("outputs")
            self.addCleanup(os.close, process.outputs)
            sources = plimsoll_sources.Sources()
            sources.begin(__file__)
            sources.end()
            parts = (plimsoll_torch, plimsoll_stale, kernel, sources, plimsoll_cuda, self.device)
            worker = plimsoll_worker.Worker(process, channel, iter([None] * 2), *parts)
            worker.launch(1, self.call())
            self.torch.sizes.clear()
            worker.profile(2, [self.call(), self.call()], {"name": "samples", "warmup": 1, "launches": 2})
            self.assertEqual([message[0] for message in channel], ["launched", "timed", "timed", "profiled"])
            for _, fields in channel[1:3]:
                self.assertEqual(fields["again"]["mutated"], ["weight"] if kernel is adds else [])
                leaf = fields["again"]["outputs"][0]["tensor"]
                self.assertEqual((leaf["shape"], os.pread(process.outputs, 4, leaf["offset"])), ([3, 8], TABLE[3, :1].numpy().tobytes()))
            more = plimsoll_cuda.SHIFT * plimsoll_cuda.SHIFTS
            rooms = [size for size in self.torch.sizes if isinstance(size, int) and size >= INDICES.nbytes + more]
            self.assertEqual(sorted(rooms), [INDICES.nbytes + more, TABLE.nbytes + more])
        # The timed launches follow one that is not judged and one on altered values, and the last is elsewhere.
        timed, last = seen[2:5], seen[-1]
        self.assertEqual([value for _, value in timed], [0.0, 1.0, 2.0])
        self.assertEqual((len({place for place, _ in timed}), last[1]), (1, 0.0))
        self.assertNotIn(last[0], {timed[0][0], seen[1][0]})

    def audited(self, kernel, launches, contents=()):
        """A region of an audit, and the outputs of its launches. The values of each launch replace the first numbers of the
        table."""
        process, memfds = Process(), [os.memfd_create(name) for name in ("outputs", "values")]
        supervisor, worker = socket.socketpair()
        self.addCleanup(lambda: [os.close(memfd) for memfd in memfds] and (supervisor.close(), worker.close()))
        process.turns, process.outputs = worker.fileno(), memfds[0]
        os.ftruncate(memfds[1], 1 << 20)

        given_out = [values.numpy().tobytes() for values in launches]
        # A process of its own: the worker does not give up the interpreter while it waits.
        child = os.fork()
        if child == 0:
            worker.close()
            for values in given_out:
                supervisor.recv(1)
                os.pwrite(memfds[1], values, 0)
                supervisor.send(b"\1")
            os._exit(0)
        audited = plimsoll_cuda_audit.Audited(self.call(), plimsoll_torch, self.device)
        places = [[[0, 0, values.nbytes]] for values in launches]
        message = {"launches": places, "asks": False, "contents": list(contents), "fill": 0}
        serving = types.SimpleNamespace(kernel=kernel, outputs=plimsoll_torch.Outputs(memfds[0]), process=process)
        given = audited.region(serving, message, plimsoll_cuda_audit.Values(memfds[1]))
        os.waitpid(child, 0)
        read = [[os.pread(memfds[0], leaf["tensor"]["bytes"], leaf["tensor"]["offset"]) for leaf in leaves]
                for leaves in given["outputs"]]
        return audited, given["durations_ns"], read

    def test_audited_launches_have_the_values_that_were_handed_out(self):
        launches = [torch.full((8 * 8,), float(number)) for number in range(5)]
        audited, durations, outputs = self.audited(torch.nn.functional.embedding, launches, [[1, 8, 8]])
        self.assertTrue(len(durations) == 5 and all(duration > 0 for duration in durations))
        for values, (output, held) in zip(launches, outputs):
            expected = torch.cat([values, TABLE.flatten()[64:]]).view_as(TABLE)[INDICES]
            self.assertEqual((output, held), (expected.numpy().tobytes(), INDICES[1:2].numpy().tobytes()))
        self.assertEqual(audited.settle(), [])

    def test_an_audited_launch_is_given_to_a_device_that_is_busy(self):
        def slow(*args):
            time.sleep(0.001)
            return torch.nn.functional.embedding(*args)

        # The host's time in the launch counts, and the next launch is held for longer.
        durations = self.audited(slow, [torch.ones(8)] * 4)[1]
        self.assertTrue(all(duration > 10**6 for duration in durations), durations)
        self.assertTrue(len(self.cuda.held) == 4 and self.cuda.held[0] < min(self.cuda.held[1:]), self.cuda.held)
        # A kernel that waits for its stream is not held again and again.
        self.cuda.held.clear()
        with mock.patch.object(Event, "reached", True):
            self.audited(slow, [torch.ones(8)] * 6)
        self.assertEqual(len(self.cuda.held), 3)
        # Other streams wait as well, or none is held.
        self.assertEqual(self.driver.waits, 4 + 3)
        self.driver.refuses = True
        self.cuda.held.clear()
        self.audited(torch.nn.functional.embedding, [torch.ones(8)] * 4)
        self.assertEqual(len(self.cuda.held), 1)

    def test_audited_launches_that_write_to_an_argument_or_too_late_are_told(self):
        def adds(indices, table):
            table.add_(1)
            return torch.nn.functional.embedding(indices, table)

        audited, _, _ = self.audited(adds, [torch.ones(8)] * 2)
        self.assertEqual(audited.settle(), ["weight"])
        output, late_us = torch.zeros(64), self.device.late_us

        def late():
            output.add_(1)
            return late_us()

        with mock.patch.object(self.device, "late_us", late):
            self.assertIn("still changed", self.refused("late-write", self.audited, lambda *_: output, [torch.ones(8)]))

    def test_idle_launches_are_timed_on_the_device(self):
        process, outputs = Process(), os.memfd_create("outputs")
        supervisor, worker = socket.socketpair()
        self.addCleanup(lambda: (os.close(outputs), supervisor.close(), worker.close()))
        process.turns = worker.fileno()
        for several in (1, 5):
            supervisor.send(b"\1" * 3)
            places = [[[0, 0, 64], [0, 64, 64]]] * 3
            given = plimsoll_cuda_audit.idle(places, several, plimsoll_torch.Outputs(outputs), process, self.device)
            self.assertEqual((len(given["durations_ns"]), len(given["outputs"][2])), (3, several))
            self.assertEqual({leaf["tensor"]["bytes"] for leaf in given["outputs"][2]}, {128})
            self.assertEqual(len(supervisor.recv(9)), 3)

    def test_a_context_is_made_small_where_it_is_asked_for(self):
        library = mock.Mock()
        with mock.patch.object(plimsoll_cuda.ctypes, "CDLL", return_value=library):
            plimsoll_cuda.Device(0)
            library.cuCtxSetLimit.assert_not_called()
            plimsoll_cuda.Device(0, small_context=True)
        (limit, size), _ = library.cuCtxSetLimit.call_args
        self.assertEqual((limit, size.value), (plimsoll_cuda.LIMIT_OF_STACK, plimsoll_cuda.SMALL_STACK))

    def test_a_device_that_is_lost_is_told_from_a_kernel_that_raises(self):
        kind_of = plimsoll_torch.kind_of
        self.assertEqual(kind_of(ValueError("rows are to be even")), "exception")
        told = "Triton Error [CUDA]: an illegal memory access was encountered"
        self.assertEqual(kind_of(RuntimeError(told)), "device-fault")
        self.assertEqual(kind_of(RuntimeError("Triton Error [CUDA]: out of memory")), "device-oom")
        # With an unknown wording.
        self.cuda.lost = "CUDA error: unspecified launch failure"
        self.assertEqual(kind_of(ValueError("cupy.cuda.driver.CUDADriverError: 700")), "device-fault")

    def test_a_device_of_another_process_is_not_there(self):
        busy = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
        with mock.patch.object(self.torch, "empty", side_effect=RuntimeError(busy)):
            self.assertIn("another process own it", self.refused("unavailable", plimsoll_cuda.Device, 0))
        self.assertIn("torch knows 1, counted from 0", self.refused("unavailable", plimsoll_cuda.Device, 1))


if __name__ == "__main__":
    unittest.main()
