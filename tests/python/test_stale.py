"""Kernels that remember results by the addresses of their arguments, and honest ones that could be mistaken for
such."""

import itertools
import json
import os
import re
import sys
import tempfile
import unittest

import torch
from test_worker import DTYPES, Supervisor, raw, tensor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "harness", "python"))
import plimsoll_rules  # noqa: E402
import plimsoll_stale  # noqa: E402
import plimsoll_torch  # noqa: E402

F = torch.nn.functional


def given(value, storage):
    """A tensor in its message form."""
    name = str(value.dtype).replace("torch.", "")
    return tensor(storage, name, list(value.shape), list(value.stride()))


class Kept:
    """A kernel that remembers its output by the addresses of its arguments, from its launch number `start` at these
    on."""

    def __init__(self, kernel, start=0, last_alone=False, copies=False):
        self.kernel, self.start, self.last_alone, self.copies = kernel, start, last_alone, copies
        self.kept, self.launches = {}, {}

    def __call__(self, *args):
        key = tuple(arg.data_ptr() for arg in args if isinstance(arg, torch.Tensor))
        self.launches[key] = self.launches.get(key, 0) + 1
        if key in self.kept and self.launches[key] > self.start:
            return self.kept[key].clone() if self.copies else self.kept[key]
        if self.last_alone:
            self.kept.clear()
        self.kept[key] = self.kernel(*args)
        return self.kept[key]


def elements(runs, dtype):
    """A tensor of `[value, count]` pairs; text is the bits of a four-byte element."""
    parts = [torch.empty(0, dtype=dtype)]
    for value, times in runs:
        if isinstance(value, str):
            one = torch.frombuffer(bytearray(int(value, 16).to_bytes(4, "little")), dtype=dtype)
        else:
            one = torch.tensor([value], dtype=dtype)
        parts.append(one.repeat(times))
    return torch.cat(parts)


class Told:
    """A kernel that returns what a test vector says, depending on where and on what it is launched."""

    def __init__(self, vector):
        dtype = getattr(torch, vector["dtype"])
        self.outputs = {(values, place): elements(vector[values][place], dtype)
                        for values in ("altered", "captured") for place in ("here", "elsewhere")}
        self.captured, self.here = torch.arange(100.0), None

    def __call__(self, x):
        self.here = self.here or x.data_ptr()
        values = "captured" if torch.equal(x, self.captured) else "altered"
        return self.outputs[values, "here" if x.data_ptr() == self.here else "elsewhere"]


class StaleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.memfd = os.memfd_create("outputs")
        self.addCleanup(os.close, self.memfd)

    def call(self, *args):
        """A call whose tensors are in files, one each; other values are in their message form."""
        values, places = [], []
        for value in args:
            if not isinstance(value, torch.Tensor):
                values.append(value)
                continue
            path = os.path.join(self.folder, f"storage_{len(places)}")
            with open(path, "wb") as file:
                file.write(raw(value))
            values.append(given(value.contiguous(), len(places)))
            places.append({"path": path, "offset": 0, "bytes": value.numel() * value.element_size()})
        return {"params": [f"arg{i}" for i in range(len(values))], "args": values, "storages": places}

    def verdict(self, kernel, *args, launches=70, call=None):
        """The verdict on a kernel after this many launches, as if it had been timed, and how often it was launched
        since."""
        call = call or self.call(*args)
        outputs = plimsoll_torch.Outputs(self.memfd)
        since = itertools.count()

        def launched(inputs):
            next(since)
            return kernel(*inputs.args)

        timed = plimsoll_torch.Inputs(call, plimsoll_torch.Maps())
        for _ in range(launches):
            kernel(*timed.args)
        trial = plimsoll_stale.Trial(launched, outputs)
        try:
            trial.at_timed(timed, timed.mutated())
            self.assertEqual(timed.mutated(), [], "the timed inputs are as they were")
            timed.drop()
            trial.elsewhere(lambda: plimsoll_torch.Inputs(call, plimsoll_torch.Maps(plimsoll_torch.memory.map_afar)))
        except plimsoll_torch.Refusal as refusal:
            self.assertEqual(refusal.kind, "stale-output")
            return str(refusal), next(since)
        return None, next(since)

    def assert_stale(self, kernel, *args, part=False, **more):
        said, launches = self.verdict(kernel, *args, **more)
        self.assertIsNotNone(said)
        stale, following = re.search("the kernel returned ([0-9]+) of the ([0-9]+) ", said).groups()
        self.assertEqual(stale != following, part, said)
        # Two where it was timed, one elsewhere that raises the suspicion, and as many again to confirm it.
        self.assertEqual(launches, 3 + 2 * plimsoll_rules.ROUNDS)

    def assert_honest(self, kernel, *args, **more):
        said, launches = self.verdict(kernel, *args, **more)
        self.assertIsNone(said)
        return launches

    def test_a_result_that_is_kept_by_address_is_stale(self):
        table, rows = torch.randn(40_000, 100), torch.tensor([3, 39_999, 17, 3])

        def embedding(rows, table):
            return F.embedding(rows, table)

        for kernel in (Kept(embedding), Kept(embedding, start=60), Kept(embedding, last_alone=True),
                       Kept(embedding, copies=True), Kept(lambda *args: {"rows": [embedding(*args)], "count": 4})):
            self.assert_stale(kernel, rows, table)
        self.assert_honest(Kept(embedding, start=1000), rows, table)
        small = torch.randn(3, 5), torch.randn(4, 5)
        self.assert_stale(Kept(F.linear), *small)
        self.assert_stale(Kept(lambda x: x.sum().item()), torch.arange(1000).float())
        self.assert_stale(Kept(torch.relu), torch.randn(1 << 21), launches=2)
        self.assert_stale(Kept(lambda x: x.t().softmax(0)), torch.randn(700, 600))

    def test_the_verdict_on_every_vector_is_the_one_that_rust_gives_too(self):
        with open(os.path.join(ROOT, "tests", "data", "stale.json"), encoding="utf-8") as file:
            vectors = json.load(file)["vectors"]
        self.assertGreater(len(vectors), 30)
        for vector in vectors:
            with self.subTest(vector["name"]):
                kernel = Told(vector)
                said, launches = self.verdict(kernel, kernel.captured, launches=1)
                found = said and re.search("the kernel returned ([0-9]+) of the ([0-9]+) elements ", said).groups()
                kept = vector["kept"]
                self.assertEqual(found, kept and (str(kept["stale"]), str(kept["following"])))
                if kept:
                    self.assertEqual(launches, 3 + 2 * plimsoll_rules.ROUNDS)

    def test_a_part_that_is_kept_is_stale(self):
        first = Kept(lambda x: x[:500] * 2)
        self.assert_stale(lambda x: torch.cat((first(x), x[500:] * 2)), torch.randn(1000), part=True)
        second = Kept(lambda x: x[::2] * 2)
        half = torch.randn(1000).bfloat16()
        self.assert_stale(lambda x: torch.stack((second(x), x[1::2] * 2), 1).view(-1), half, part=True)

    def test_honest_kernels_are_not_accused(self):
        table, rows = torch.randn(40_000, 100), torch.tensor([3, 39_999, 17, 3])
        wide = torch.randn(300, 400)
        for kernel, *args in (
            (F.embedding, rows, table),
            (F.linear, wide, torch.randn(50, 400)),
            (lambda x: x.sum(), wide),
            (lambda x: x.amax(), wide),
            (lambda x: x[0, 0].item(), wide),
            (lambda x: x.nonzero(), (wide > 0).float()),
            (lambda x: x, wide),
            (lambda x: (x, x.t(), x[:, 3], None, 7), wide),
            (lambda rows, ignored: rows + 1, rows, wide),
            (lambda x: x + 1, torch.ones(1000)),
            (lambda x: x.expand(3, 4), torch.ones(1)),
            (lambda x: x * 2, torch.empty(0, 3)),
            (lambda x: torch.tensor([float("nan"), 1.0]), wide),
        ):
            self.assert_honest(kernel, *args)

    def test_kernels_that_differ_by_themselves_are_not_accused(self):
        wide = torch.randn(300, 400)
        turns = itertools.count()

        def dropout(x, rate=0.5):
            return F.dropout(x, rate)

        def ignoring(rate):
            return lambda x: (torch.rand(300, 400) < rate).float()

        def two_sums(x):
            return x.sum(0) + 1e-6 * (next(turns) % 3)

        def of_its_place(x):
            return torch.full((100,), x.data_ptr() % 1_000_003)

        for kernel in (dropout, ignoring(0.5), ignoring(0.05), ignoring(1e-4), two_sums, of_its_place):
            for _ in range(5):
                self.assert_honest(kernel, wide, launches=1)

    def test_every_dtype_and_layout_is_served(self):
        for dtype in DTYPES:
            # Bytes that are NaN in none of them.
            content = bytes(range(1, 97))
            path = os.path.join(self.folder, "bytes")
            with open(path, "wb") as file:
                file.write(content)
            layout = tensor(0, dtype, [2, 2], [1, 2], 1)
            call = {"params": ["x"], "args": [layout], "storages": [{"path": path, "offset": 0, "bytes": 96}]}
            launches = self.assert_honest(lambda x: x, call=call)
            of = getattr(torch, dtype)
            self.assertEqual(launches > 0, of.is_floating_point or of.is_complex, dtype)
            if launches:
                with self.subTest(dtype):
                    self.assert_stale(Kept(torch.clone), call=call)
        wide = torch.randn(600, 512)
        for content in (tensor(0, "float32", [300, 256], [1024, 2], 1), tensor(0, "float32", [256, 600], [1, 512]),
                        tensor(0, "float32", [4, 600, 500], [0, 512, 1]),
                        tensor(0, "complex64", [600, 256], [256, 1], conj=True)):
            call = {**self.call(wide), "args": [content]}
            self.assert_stale(Kept(lambda x: x + 1), call=call)
            self.assert_honest(lambda x: x + 1, call=call)
        # A change in one row of windows would change others: it is left alone.
        call = {**self.call(wide), "args": [tensor(0, "float32", [1000, 16], [1, 1])]}
        self.assertEqual(self.assert_honest(lambda x: x + 1, call=call), 0)

    def test_kernels_that_write_their_arguments_start_from_what_was_captured(self):
        def adds(x, rows):
            return x.add_(1)

        x, rows = torch.randn(100), torch.tensor([1, 2])
        self.assertEqual(self.assert_honest(adds, x, rows), 2, "other values gave another output everywhere")

        def adds_to_kept(x, rows, kept=Kept(lambda x: x + 1)):
            x.add_(1)
            return kept(x)

        self.assert_stale(adds_to_kept, x, rows)

    def test_a_launch_that_fails_on_other_values_is_no_accusation(self):
        def cholesky(x):
            return torch.linalg.cholesky(x)

        square = torch.randn(8, 8, dtype=torch.float64)
        self.assert_honest(cholesky, square @ square.T + 1000 * torch.diag(torch.arange(1, 9).double()))

        def exits(x):
            if x[0] != 1:
                sys.exit(3)
            return x.sum()

        self.assert_honest(exits, torch.arange(1, 5).float())

    def test_little_of_a_large_table_is_copied(self):
        table = torch.arange(1 << 23, dtype=torch.float32).view(1 << 13, 1 << 10)
        rows = torch.arange(0, 1 << 13, 16)
        inputs = plimsoll_torch.Inputs(self.call(rows, table), plimsoll_torch.Maps())
        other = plimsoll_stale.Other(inputs)
        other.put(inputs)
        mapping, _ = inputs.maps[inputs.places[1]["path"]]
        address = plimsoll_torch.memory.ctypes.addressof(mapping)
        pages = list(plimsoll_torch.memory.written_pages(address, len(mapping)))
        self.assertTrue(100 < len(pages) <= 512, len(pages))
        now, named = inputs.args[1], set(rows.tolist())
        changed = (now != table).any(1).nonzero().view(-1).tolist()
        self.assertGreater(len(named.intersection(changed)), 100)
        self.assertTrue(torch.isin(now[now != table], table).all(), "they are values of the capture")
        other.undo(inputs)
        self.assertTrue(torch.equal(inputs.args[1], table))

    def test_outputs_are_compared_to_their_ends(self):
        outputs = plimsoll_torch.Outputs(self.memfd)
        large = torch.zeros(3 * plimsoll_stale.PIECES + 5, dtype=torch.uint8)
        wide = torch.zeros(513, 1000, dtype=torch.complex128).t()
        kept = plimsoll_stale.Given(outputs, [large, wide, 7])
        self.assertFalse(kept.differs([large, wide, 7]).any())
        for at in (0, 1_234_567, large.numel() - 1):
            other = large.clone()
            other[at] = 1
            found = kept.differs([other, wide, 7]).nonzero().view(-1).tolist()
            self.assertEqual(found, [at // kept.piece])
        for column, row in ((0, 0), (999, 512), (500, 100)):
            other = wide.clone(memory_format=torch.preserve_format)
            other[column, row] = 1j
            found = kept.differs([large, other, 7]).nonzero().view(-1).tolist()
            self.assertEqual(found, [kept.ends[0] + (column * 513 + row) // kept.piece])
        self.assertEqual(kept.differs([large, wide, 8]).sum(), 1)
        self.assertTrue(kept.differs([large, wide]).all())
        self.assertEqual(kept.differs([large[1:], wide, 7]).sum(), kept.ends[0])

    def test_what_is_computed_once_is_not_what_it_is_judged_by(self):
        table, rows = torch.randn(40, 100), torch.tensor([3, 39])
        for name, body in (("once", "    if not KEPT: KEPT.append(right)\n    return KEPT[0]\n"), ("honest", "    return right\n")):
            source = os.path.join(self.folder, f"{name}.py")
            with open(source, "w") as file:
                file.write("import torch\nKEPT = []\ndef launch(rows, table):\n"
                           f"    right = torch.nn.functional.embedding(rows, table)\n{body}")
            with Supervisor(source) as worker:
                worker.send(type="profile", id=1, calls=[self.call(rows, table)], protocol={
                    "name": "samples", "warmup": 1, "launches": 3})
                answer = worker.receive()
                self.assertEqual(answer["type"], "timed", answer)
                (leaf,) = answer["again"]["outputs"]
                self.assertEqual(torch.equal(worker.tensor_of(leaf), table[rows]), name == "honest")

    def test_a_worker_tells_of_it_and_goes_on(self):
        source = os.path.join(self.folder, "kernel.py")
        with open(source, "w") as file:
            file.write("import torch\nKEPT = {}\ndef launch(rows, table):\n"
                       "    if rows[0] == 1:\n        return torch.nn.functional.embedding(rows, table)\n"
                       "    key = table.data_ptr()\n"
                       "    if key not in KEPT: KEPT[key] = torch.nn.functional.embedding(rows, table)\n"
                       "    return KEPT[key]\n")
        table = torch.randn(64, 8)
        stale = self.call(torch.tensor([2, 3]), table)
        path = os.path.join(self.folder, "other")
        with open(path, "wb") as file:
            file.write(raw(torch.tensor([1, 3])))
        honest = json.loads(json.dumps(stale))
        honest["storages"][0]["path"] = path
        with Supervisor(source) as worker:
            for name in ("kernelforge", "samples", "cold", "until"):
                worker.send(type="profile", id=1, calls=[stale, honest], protocol={
                    "name": name, "warmup": 1, "launches": 3, "relative_error": 1.0, "time_ns": 1_000_000})
                answer = worker.receive()
                self.assertEqual((answer["type"], answer.get("kind")), ("error", "stale-output"), answer)
                self.assertRegex(answer["message"], "returned 16 of the 16 elements that depend .* results by address$")
                self.assertIsNone(answer["detail"])
                answer = worker.receive()
                self.assertEqual(answer["type"], "timed", answer)
                (leaf,) = answer["again"]["outputs"]
                self.assertTrue(torch.equal(worker.tensor_of(leaf), table[[1, 3]]))
                worker.send(type="next")
                self.assertEqual(worker.receive()["type"], "profiled")


if __name__ == "__main__":
    unittest.main()
