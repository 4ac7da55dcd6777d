"""Tests of the Python worker, driven over its protocol like the supervisor does. Run: python -m unittest discover
tests/python"""

import fcntl
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "harness", "python"))
import plimsoll_memory  # noqa: E402
from plimsoll_timing import last_level_cache, next_round  # noqa: E402

WORKER = os.path.join(ROOT, "harness", "python", "plimsoll_worker.py")
KERNELS = os.path.join(ROOT, "tests", "kernels")
DTYPES = """float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu
    float4_e2m1fn_x2 complex128 complex64 complex32 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool
    bits1x8 bits2x4 bits4x2 bits8 bits16""".split()
OPTIONS = [None, None, {"float": 2.0}, False, False]


class Supervisor:
    """One worker, and its descriptors."""

    def __init__(self, kernel, function="launch", python=sys.executable, options=()):
        file = kernel if os.path.isabs(kernel) else os.path.join(KERNELS, kernel + ".py")
        self.socket, theirs = socket.socketpair()
        self.outputs = os.memfd_create("outputs", os.MFD_ALLOW_SEALING)
        fcntl.fcntl(self.outputs, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        environment = dict(os.environ, PLIMSOLL_CHANNEL=str(theirs.fileno()), PLIMSOLL_OUTPUTS=str(self.outputs))
        self.process = subprocess.Popen(
            [python, *options, WORKER], env=environment, pass_fds=[theirs.fileno(), self.outputs],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        theirs.close()
        self.socket.settimeout(300)
        self.lines = self.socket.makefile("rb")
        self.send(type="hello", protocol=2, kernel={"python": {"file": file, "function": function}})
        self.hello = self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.lines.close()
        self.socket.close()
        os.close(self.outputs)

    def send(self, **message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message, or None at the end of the stream."""
        try:
            line = self.lines.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def ask(self, **message):
        self.send(**message)
        return self.receive()

    def bytes_of(self, leaf):
        return os.pread(self.outputs, leaf["tensor"]["bytes"], leaf["tensor"]["offset"])

    def tensor_of(self, leaf):
        place = leaf["tensor"]
        flat = torch.frombuffer(bytearray(self.bytes_of(leaf)), dtype=getattr(torch, place["dtype"]))
        return flat.view(place["shape"])


def tensor(storage, dtype, shape, strides, offset=0, **bits):
    layout = {"dtype": dtype, "shape": shape, "strides": strides, "offset": offset, **bits}
    return {"tensor": {"storage": storage, "layout": layout}}


def raw(value):
    return value.contiguous().flatten().view(torch.uint8).numpy().tobytes()


class MapTest(unittest.TestCase):
    def test_large_pages_fit_to_no_map_of_a_file(self):
        large, page = plimsoll_memory.LARGE_PAGE, mmap.PAGESIZE
        content = b"".join(number.to_bytes(2, "little") * (page // 2) for number in range(3 * large // page))
        arena = plimsoll_memory.Arena()
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.flush()
            for offset in (0, page, large, large + page):
                length = len(content) - offset
                arena.begin(2 * (length + page))
                maps = [place(file.fileno(), length, offset) for place in (arena.map, plimsoll_memory.map_anywhere)
                        for _ in range(2)]
                for mapping in maps:
                    self.assertNotEqual((plimsoll_memory.ctypes.addressof(mapping) - offset) % large, 0)
                    self.assertEqual(bytes(mapping), content[offset:])


class WorkerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.weight = torch.arange(12, dtype=torch.float32).view(4, 3).to(torch.bfloat16)
        self.indices = torch.tensor([[2, 0, 3]])
        self.expected = torch.nn.functional.embedding(self.indices, self.weight)
        self.call = self.embedding_call()

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def kernel(self, source):
        return self.file("kernel.py", source.encode())

    def embedding_call(self, indices=None):
        """A call of embedding on an entry whose storages start after the first page, not at the start of a page."""
        indices = self.indices if indices is None else indices
        head = b"\xff" * (mmap.PAGESIZE + 64)
        first, second = raw(indices), raw(self.weight)
        path = self.file("entry_000000.pt", head + first + second)
        return {
            "params": ["input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"],
            "args": [tensor(0, "int64", list(indices.shape), list(indices.stride())),
                     tensor(1, "bfloat16", [4, 3], [3, 1]), *OPTIONS],
            "storages": [{"path": path, "offset": len(head), "bytes": len(first)},
                         {"path": path, "offset": len(head) + len(first), "bytes": len(second)}],
        }

    def call_of(self, args, *storages):
        places = [{"path": self.file(f"storage_{i}", content), "offset": 0, "bytes": len(content)}
                  for i, content in enumerate(storages)]
        return {"params": [f"arg{i}" for i in range(len(args))], "args": args, "storages": places}

    def assert_right(self, worker, answer):
        self.assertEqual(answer["type"], "launched", answer)
        (leaf,) = answer["outputs"]
        self.assertEqual(leaf["path"], "")
        self.assertEqual(leaf["tensor"]["shape"], list(self.expected.shape))
        self.assertEqual(leaf["tensor"]["offset"] % 64, 0)
        self.assertTrue(torch.equal(worker.tensor_of(leaf), self.expected))

    def assert_error(self, answer, kind, message):
        self.assertEqual(answer and answer["type"], "error", answer)
        self.assertEqual(answer["kind"], kind, answer)
        self.assertIn(message, answer["message"])

    def test_launches_profiles_releases_and_says_goodbye(self):
        with Supervisor("torch_embedding") as worker:
            self.assertEqual(worker.hello["worker"], "python")
            self.assertEqual(worker.hello["pid"], worker.process.pid)
            self.assertEqual(worker.hello["versions"]["torch"], str(torch.__version__))
            for id in (7, 8):
                answer = worker.ask(type="launch", id=id, call=self.call)
                self.assertEqual(answer["id"], id)
                self.assertGreater(answer["elapsed_ns"], 0)
                self.assert_right(worker, answer)
            bad = dict(self.call, storages=[])
            worker.send(type="profile", id=9, calls=[self.call, bad, self.call],
                        protocol={"name": "kernelforge", "warmup": 2, "launches": 5})
            for index in (0, 1, 2):
                answer = worker.receive()
                self.assertEqual((answer["id"], answer["index"]), (9, index))
                if index == 1:
                    self.assertEqual(answer["type"], "error")
                else:
                    self.assertEqual((answer["type"], answer["launches_per_sample"]), ("timed", 5))
                    self.assertEqual(len(answer["durations_ns"]), 1)
                    self.assertGreater(answer["durations_ns"][0], 0)
                    self.assert_right(worker, {"type": "launched", **answer["again"]})
                    worker.send(type="next")
            self.assertEqual(worker.receive(), {"type": "profiled", "id": 9})
            worker.send(type="profile", id=10, calls=[self.call],
                        protocol={"name": "samples", "warmup": 0, "launches": 4})
            answer = worker.receive()
            self.assertEqual((answer["launches_per_sample"], len(answer["durations_ns"])), (1, 4))
            worker.send(type="next")
            self.assertEqual(worker.receive()["type"], "profiled")
            cold = {"name": "cold", "warmup": 0, "launches": 2}
            until = {"name": "until", "warmup": 1, "launches": 20, "relative_error": 1e-9, "time_ns": 3_000_000}
            for protocol in (cold, until):
                worker.send(type="profile", id=11, calls=[self.call], protocol=protocol)
                answer = worker.receive()
                self.assertEqual(answer["launches_per_sample"], 1, answer)
                if protocol is cold:
                    flush = answer["flush"]
                    self.assertEqual(len(answer["durations_ns"]), 2)
                    self.assertEqual(flush["written"], 2 * flush["cache"] if "cache" in flush else 256 << 20)
                else:
                    self.assertEqual(answer["stop"], "time")
                    self.assertGreaterEqual(sum(answer["durations_ns"]), 3_000_000 * (1 - 1e-9))
                worker.send(type="next")
                self.assertEqual(worker.receive()["type"], "profiled")
            self.assertEqual(worker.ask(type="release"), {"type": "released"})
            self.assertEqual(os.fstat(worker.outputs).st_blocks, 0, "the pages of the outputs are given back")
            self.assert_right(worker, worker.ask(type="launch", id=11, call=self.call))
            worker.process.send_signal(signal.SIGINT)
            self.assert_error(worker.ask(type="dance"), "unsupported", "dance")
            self.assertIsNone(worker.ask(type="bye"))
            self.assertEqual(worker.process.wait(), 0)

    def test_rounds_end_where_those_of_the_built_in_worker_do(self):
        def run(takes, fewest, error, time_ns):
            durations = []
            while True:
                more, stop = next_round(durations, fewest, error, time_ns)
                if stop:
                    return len(durations), stop
                durations += [takes(len(durations) + n) for n in range(more)]

        self.assertEqual(run(lambda n: 1000.0, 100, 0.005, 2_000_000_000), (100, "relative_error"))
        count, stop = run(lambda n: 900.0 if n % 2 == 0 else 1100.0, 10, 0.005, 2_000_000_000)
        self.assertEqual(stop, "relative_error")
        self.assertTrue(400 <= count < 500, count)
        self.assertEqual(run(lambda n: 10e9, 100, 0.005, 2_000_000_000), (1, "time"))
        self.assertEqual(run(lambda n: n % 2, 10, 1e-6, 2_000_000_000), (10_000, "launches"))
        self.assertEqual(run(lambda n: 0.0, 10, 1e-6, 2_000_000_000), (10, "relative_error"))

    def test_a_processor_without_a_cache_to_read_of_has_none(self):
        def cache(place, **files):
            os.makedirs(os.path.join(self.folder, place))
            for name, content in files.items():
                self.file(os.path.join(place, name), f"{content}\n".encode())

        self.assertIsNone(last_level_cache(self.folder))
        cache("cpu0/cache/index1", level=4, type="Instruction", size="99999K")
        cache("cpu0/cache/index2", level=2, type="Unified", size="65536K")
        cache("cpu0/cache/index3", level=3, type="Unified", size="32768K")
        cache("cpu1/cache/index3", level=3, type="Unified", size="0K")
        self.assertEqual(last_level_cache(self.folder), 32 << 20)
        cache("cpu9/cache/index3", level=3, type="Unified", size="98304K")
        self.assertEqual(last_level_cache(self.folder), 96 << 20)

    def test_the_end_of_the_channel_ends_the_worker(self):
        with Supervisor("torch_embedding") as worker:
            worker.socket.shutdown(socket.SHUT_RDWR)
            self.assertEqual(worker.process.wait(60), 0)

    def test_values_come_as_they_were_captured(self):
        source = "def launch(*args):\n    return [repr(a) for a in args]\n"
        values = {
            "null": "None", "true": "True", "123456789012345678901234567890": "123456789012345678901234567890",
            '"text"': "'text'", '{"float":0.5}': "0.5", '{"float":"-inf"}': "-inf", '{"float":3}': "3.0",
            '{"complex":[1.0,"nan"]}': "(1+nanj)", '{"bytes":"00ff"}': "b'\\x00\\xff'",
            '{"dtype":"bfloat16"}': "torch.bfloat16", '{"device":"cuda:0"}': "device(type='cuda', index=0)",
            '{"list":[1,{"tuple":[2]}]}': "[1, (2,)]", '{"dict":[["a",1],[{"tuple":[]},null]]}': "{'a': 1, (): None}",
        }
        with Supervisor(self.kernel(source)) as worker:
            answer = worker.ask(type="launch", id=1, call=self.call_of([json.loads(text) for text in values]))
            self.assertEqual([leaf["value"] for leaf in answer["outputs"]], list(values.values()))
            opaque = {"opaque": {"class": "torch.memory_format", "detail": "an object"}}
            answer = worker.ask(type="launch", id=1, call=self.call_of([opaque]))
            self.assert_error(answer, "unsupported", "torch.memory_format (an object)")
            answer = worker.ask(type="launch", id=1, call=self.call_of([{"dtype": "float7"}]))
            self.assert_error(answer, "unsupported", "has no dtype float7")

    def test_tensors_of_every_dtype_and_layout_come_and_go_unchanged(self):
        source = "def launch(*args):\n    return list(args)\n"
        content = bytes(range(1, 97))
        with Supervisor(self.kernel(source)) as worker:
            for dtype in DTYPES:
                call = self.call_of([tensor(0, dtype, [2, 2], [1, 2], 1)], content)
                answer = worker.ask(type="launch", id=1, call=call)
                self.assertEqual(answer["type"], "launched", (dtype, answer))
                (leaf,) = answer["outputs"]
                size = leaf["tensor"]["bytes"] // 4
                expected = b"".join(content[i * size:(i + 1) * size] for i in (1, 3, 2, 4))
                self.assertEqual((leaf["path"], leaf["tensor"]["dtype"]), ("[0]", dtype))
                self.assertEqual(worker.bytes_of(leaf), expected, dtype)
            number = torch.tensor([1 + 2j])
            args = [tensor(0, "complex64", [1], [1], conj=True), tensor(0, "complex64", [1], [1], neg=True),
                    tensor(1, "float32", [0, 3], [3, 1]), tensor(0, "float32", [], [], 1)]
            call = self.call_of(args, raw(number), b"")
            leaves = worker.ask(type="launch", id=1, call=call)["outputs"]
            conj, neg, scalar = map(worker.tensor_of, leaves[:2] + leaves[3:])
            self.assertEqual((conj.item(), neg.item(), scalar.item()), (1 - 2j, -1 - 2j, 2.0))
            self.assertEqual((leaves[2]["tensor"]["shape"], leaves[2]["tensor"]["bytes"]), ([0, 3], 0))
            self.assertEqual([leaf["tensor"]["offset"] % 64 for leaf in leaves], [0] * 4)
            answer = worker.ask(type="launch", id=1, call=self.call_of([tensor(0, "int64", [9], [9])], content))
            self.assert_error(answer, "unsupported", "makes no int64 tensor of shape [9] over a storage of 96 bytes")
            answer = worker.ask(type="launch", id=1, call=self.call_of([tensor(0, "qint8", [1], [1])], content))
            self.assert_error(answer, "unsupported", "a qint8 tensor has no scale and zero point in the call")

    def test_tensors_of_one_storage_share_it_within_a_call(self):
        source = "def launch(a, b):\n    a.zero_()\n    return {'b': b, 'same': (a.data_ptr() == b.data_ptr(),)}\n"
        content = raw(torch.ones(3))
        call = self.call_of([tensor(0, "float32", [3], [1])] * 2, content)
        with Supervisor(self.kernel(source)) as worker:
            first, second = worker.ask(type="launch", id=1, call=call)["outputs"]
            self.assertEqual((first["path"], second), ('["b"]', {"path": '["same"][0]', "value": True}))
            self.assertEqual(worker.tensor_of(first).tolist(), [0.0] * 3)
        with open(call["storages"][0]["path"], "rb") as file:
            self.assertEqual(file.read(), content, "a kernel that writes its inputs changes no file")

    def test_a_kernel_that_writes_its_inputs_is_right_every_time(self):
        with Supervisor("mutates_inputs") as worker:
            for id in (1, 2):
                self.assert_right(worker, worker.ask(type="launch", id=id, call=self.call))

    def test_calls_of_a_batch_that_share_a_file_map_it_once_and_see_it_unchanged(self):
        weight = torch.arange(1, 1 + (2 << 20), dtype=torch.float32)
        table = self.file("object", raw(weight))
        places = [{"path": table, "offset": 0, "bytes": weight.nbytes},
                  {"path": self.file("own", b"\1" * 8), "offset": 0, "bytes": 8}]
        args = [tensor(0, "float32", list(weight.shape), [1]), tensor(1, "int64", [1], [1])]
        call = {"params": ["weight", "own"], "args": args, "storages": places}
        log = os.path.join(self.folder, "log")
        source = f"""
            import json, re
            def launch(weight, own):
                total = weight[0].item(), weight[-1].item(), own.item()
                resident = 0
                for block in re.split("(?m)^(?=[0-9a-f]+-)", open("/proc/self/smaps").read()):
                    if {table!r} in block:
                        resident += int(re.search("Rss: +([0-9]+)", block)[1])
                with open({log!r}, "a") as file:
                    file.write(json.dumps([weight.data_ptr(), total, resident]) + "\\n")
                weight.add_(1)
                own.add_(1)
                if len(open({log!r}).readlines()) == 2:
                    raise ValueError("after it wrote")
        """
        source = "\n".join(line[12:] for line in source.splitlines())
        with Supervisor(self.kernel(source)) as worker:
            worker.send(type="profile", id=9, calls=[call] * 5, protocol={"name": "samples", "warmup": 0, "launches": 1})
            kinds = []
            for _ in range(6):
                kinds.append(worker.receive()["type"])
                if kinds[-1] == "timed":
                    worker.send(type="next")
            self.assertEqual(kinds, ["error"] + ["timed"] * 4 + ["profiled"])
        with open(log) as file:
            pointers, totals, resident = zip(*map(json.loads, file))
        # Each call is launched elsewhere on altered values, timed once and launched there twice more, the second time
        # on altered values, then at two other places; the first call ends with its second launch.
        self.assertEqual(len(pointers), 2 + 4 * 6)
        there = {pointers[1], *pointers[3::6], *pointers[4::6], *pointers[5::6]}
        self.assertEqual(len(there), 1, "five calls, one mapping")
        self.assertFalse(there & {pointers[0], *pointers[2::6], *pointers[6::6], *pointers[7::6]})
        first = [1.0, weight[-1].item(), 0x0101010101010101]
        for seen in (totals[1:2], totals[3::6], totals[4::6], totals[7::6]):
            self.assertEqual(list(seen), [first] * len(seen))
        # The memory written by a launch may stay until the next launch has its own.
        self.assertLessEqual(max(resident) * 1024, 2 * weight.nbytes)

    def test_a_kernel_of_cpp_is_launched_as_it_is(self):
        with Supervisor("inline_embedding") as worker:
            self.assertEqual(worker.hello["type"], "hello", worker.hello)
            self.assert_right(worker, worker.ask(type="launch", id=1, call=self.call))

    def test_exceptions_are_told_from_the_kernels_first_frame(self):
        with Supervisor("raises") as worker:
            answer = worker.ask(type="launch", id=5, call=self.call)
            self.assert_error(answer, "exception", "ValueError: no kernel for 7 arguments")
            self.assertEqual(answer["id"], 5)
            self.assertIn("in check", answer["detail"])
            self.assertNotIn("plimsoll_worker.py", answer["detail"])

    def test_a_kernel_with_other_parameters_says_how_it_is_called(self):
        with Supervisor(self.kernel("def launch(input, weight): return weight\n")) as worker:
            answer = worker.ask(type="launch", id=1, call=self.call)
            self.assert_error(answer, "exception", "a kernel gets every argument of the captured call, by position")
        with Supervisor(self.kernel("def launch(*args): return len(1)\n")) as worker:
            answer = worker.ask(type="launch", id=1, call=self.call)
            self.assertNotIn("by position", answer["message"])
        # pybind11 would print the tensors.
        bound = "import torch\nlaunch = torch._C._jit_set_profiling_mode\n"
        called = "import torch\ndef launch(*args): torch._C._jit_set_profiling_mode(torch.ones(3))\n"
        for text in (bound, called):
            with Supervisor(self.kernel(text)) as worker:
                answer = worker.ask(type="launch", id=1, call=self.call)
                self.assert_error(answer, "exception", "incompatible function arguments")
                self.assertIn("(arg0: bool) -> bool", answer["message"])
                self.assertNotIn("Invoked with", answer["message"] + (answer["detail"] or ""))
                self.assertEqual("by position" in answer["message"], text is bound)

    def test_memory_that_runs_out_is_told_apart(self):
        source = """
            import torch
            def launch(which):
                if which == 0: return torch.empty(1 << 60, dtype=torch.uint8)
                if which == 1: return bytearray(1 << 60)
                if which == 2: raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
                if which == 3: raise RuntimeError("out of range")
                return torch.empty(1).expand(1 << 60)
        """
        source = "\n".join(line[12:] for line in source.splitlines())
        kinds = ["host-oom", "host-oom", "device-oom", "exception", "host-oom"]
        with Supervisor(self.kernel(source)) as worker:
            for which, kind in enumerate(kinds):
                answer = worker.ask(type="launch", id=1, call=self.call_of([which]))
                self.assertEqual((answer["type"], answer.get("kind")), ("error", kind), answer)

    def test_a_file_that_is_gone_or_cut_short_is_an_error_of_the_input(self):
        with Supervisor("torch_embedding") as worker:
            path = self.call["storages"][0]["path"]
            os.truncate(path, 100)
            self.assert_error(worker.ask(type="launch", id=1, call=self.call), "input", "was cut short")
            os.remove(path)
            self.assert_error(worker.ask(type="launch", id=1, call=self.call), "input", "No such file")
            self.assert_right(worker, worker.ask(type="launch", id=2, call=self.embedding_call()))

    def test_prints_and_closed_descriptors_do_not_reach_the_channel(self):
        for kernel in ("prints", "closes_standard"):
            with self.subTest(kernel), Supervisor(kernel) as worker:
                for id in (1, 2):
                    self.assert_right(worker, worker.ask(type="launch", id=id, call=self.call))
                self.assertIsNone(worker.ask(type="bye"))
                self.assertEqual(worker.process.wait(), 0)

    def test_a_child_that_comes_back_does_not_speak(self):
        with Supervisor("forks") as worker:
            for id in (1, 2):
                answer = worker.ask(type="launch", id=id, call=self.call)
                self.assertEqual(answer["id"], id)
                self.assert_right(worker, answer)
            worker.send(type="profile", id=3, calls=[self.call],
                        protocol={"name": "samples", "warmup": 0, "launches": 20})
            answer = worker.receive()
            self.assertIn(answer["type"], ("timed", "error"))
            if answer["type"] == "timed":
                worker.send(type="next")
            self.assertEqual(worker.receive()["type"], "profiled")
            self.assertIsNone(worker.ask(type="bye"))

    def test_a_worker_without_its_channel_ends(self):
        for kernel, code in (("closes_all", 70), ("exits", 3), ("segfault", -signal.SIGSEGV)):
            with self.subTest(kernel), Supervisor(kernel) as worker:
                self.assertIsNone(worker.ask(type="launch", id=1, call=self.call))
                self.assertEqual(worker.process.wait(), code)

    def test_children_of_the_kernel_do_not_hold_the_descriptors(self):
        source = """
            import os, subprocess
            def launch(*args):
                listing = ["find", "/proc/self/fd", "-type", "l", "-printf", "%l "]
                environment = [n for n in os.environ if n in ("PLIMSOLL_CHANNEL", "PLIMSOLL_OUTPUTS")]
                return subprocess.check_output(listing, close_fds=False).decode(), environment
        """
        source = "\n".join(line[12:] for line in source.splitlines())
        with Supervisor(self.kernel(source)) as worker:
            (leaf,) = worker.ask(type="launch", id=1, call=self.call_of([]))["outputs"]
            self.assertIn("/proc/", leaf["value"])
            self.assertNotIn("socket", leaf["value"])
            self.assertNotIn("memfd", leaf["value"])

    def test_a_kernel_that_cannot_be_loaded_is_an_error_without_id(self):
        for source, function, message in (
            ("import nothing_of_that_name", "launch", "ModuleNotFoundError"),
            ("def launch(:", "launch", "SyntaxError"),
            ("def other(): pass", "launch", "has no function `launch`; it has other"),
            ("import sys; sys.exit(4)", "launch", "SystemExit: 4"),
        ):
            with self.subTest(source), Supervisor(self.kernel(source), function) as worker:
                self.assert_error(worker.hello, "exception", message)
                self.assertNotIn("id", worker.hello)
                self.assertEqual(worker.process.wait(), 1)
        with Supervisor(os.path.join(self.folder, "missing.py")) as worker:
            self.assert_error(worker.hello, "exception", "FileNotFoundError")

    def test_a_missing_torch_is_told_with_what_to_set(self):
        with Supervisor("torch_embedding", options=["-S"]) as worker:
            self.assert_error(worker.hello, "unavailable", f"torch is not installed in {sys.executable}: ")
            self.assertIn("set --python or PLIMSOLL_PYTHON", worker.hello["message"])
            self.assertEqual(worker.process.wait(), 1)


if __name__ == "__main__":
    unittest.main()
