"""Tests of capturing into a store, compared with torch.save. Run: python -m unittest discover tests/python"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
from blake3 import blake3

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "harness", "python")
sys.path.insert(0, PACKAGE)

from plimsoll_capture import NotSaved, Store, StoreError, capture, load  # noqa: E402
from plimsoll_capture import layout, storages, store as writing  # noqa: E402


class Transformer(torch.nn.Module):
    """A small model with the kinds of layers that real ones have, its output layer tied to its embedding."""

    def __init__(self, vocabulary=512, width=64, layers=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        self.dropout = torch.nn.Dropout()

    def forward(self, tokens):
        return self.head(self.dropout(self.layers(self.embedding(tokens))))


def objects(store):
    return {name for _, _, names in os.walk(os.path.join(store, "objects")) for name in names}


def object_bytes(store, id):
    with open(os.path.join(store, "objects", id[:2], id), "rb") as file:
        return file.read()


def recipe(store, capture, name):
    with open(os.path.join(store, "captures", capture, name), "rb") as file:
        reference = file.read()
    assert len(reference) == 83 and reference.startswith(b"plimsoll.recipe/1 "), reference
    return json.loads(object_bytes(store, reference.split()[1].decode()))


def put_together(store, capture, name):
    """Restores the file of an entry according to docs/store-format.md."""
    made = recipe(store, capture, name)
    skeleton = object_bytes(store, made["skeleton"])
    length = int.from_bytes(skeleton[:8], "little")
    header, rest = json.loads(skeleton[8:8 + length]), skeleton[8 + length:]
    assert [{key: p[key] for key in ("key", "offset", "bytes")} for p in made["payloads"]] == header["payloads"]
    file = b""
    for payload in made["payloads"]:
        count = payload["offset"] - len(file)
        file, rest = file + rest[:count], rest[count:]
        file += object_bytes(store, payload["object"])[payload["at"]:payload["at"] + payload["bytes"]]
    file += rest
    assert len(file) == made["bytes"] and blake3(file).hexdigest() == made["blake3"]
    return file


class CaptureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = os.path.join(self.folder, "store")
        torch.manual_seed(0)

    def saved(self, entry, name="entry_000000.pt"):
        """The file that torch.save writes for the same object."""
        path = os.path.join(self.folder, name)
        torch.save(entry, path)
        with open(path, "rb") as file:
            return file.read()

    def assert_sound(self, store=None):
        """Every object matches its name, and nothing unfinished is left."""
        store = store or self.store
        for id in objects(store):
            self.assertEqual(blake3(object_bytes(store, id)).hexdigest(), id)
        self.assertEqual(os.listdir(os.path.join(store, "tmp")), [])

    def assert_same(self, loaded, expected):
        """Two entries are equal: values, types, layouts, and which tensors share a storage."""
        if isinstance(expected, torch.Tensor):
            self.assertEqual((loaded.dtype, loaded.shape, loaded.stride(), loaded.storage_offset()),
                             (expected.dtype, expected.shape, expected.stride(), expected.storage_offset()))
            self.assertEqual(bytes(loaded.untyped_storage()), bytes(expected.untyped_storage()))
        elif isinstance(expected, dict):
            self.assertEqual(list(loaded), list(expected))
            for key in expected:
                self.assert_same(loaded[key], expected[key])
        elif isinstance(expected, (list, tuple)):
            self.assertEqual((type(loaded), len(loaded)), (type(expected), len(expected)))
            for one, other in zip(loaded, expected):
                self.assert_same(one, other)
        else:
            self.assertEqual(loaded, expected)

    def test_what_was_saved_is_loaded_over_the_objects_of_the_store(self):
        weight = torch.randn(300, 7)
        entries = [
            {"args": [weight, weight.t(), weight[1:3], torch.empty(0)], "kwargs": {"n": 3, "dtype": torch.float16}},
            {"output": (weight.bfloat16(), torch.arange(5), torch.tensor([True])), "args": [weight.to(torch.complex64)]},
        ]
        with Store(self.store) as store:
            for entry in entries:
                store.save(entry, "one")
            store.save({"args": [weight]}, "two")
        for number, entry in enumerate(entries):
            name = f"entry_{number:06d}.pt"
            path = os.path.join(self.folder, name)
            torch.save(entry, path)
            self.assert_same(load(self.store, f"one/{name}"), torch.load(path, weights_only=True))
        loaded = load(self.store, "entry_000001.pt")
        self.assertEqual(len({tensor.untyped_storage().data_ptr() for tensor in load(self.store, "one/entry_000000.pt")["args"][:3]}), 1)
        # The memory is the file's, and writes to it stay private.
        with open("/proc/self/maps", encoding="utf-8") as maps:
            self.assertIn(os.path.join(self.store, "objects"), maps.read())
        loaded["args"][0].zero_()
        self.assert_same(load(self.store, "entry_000001.pt"), torch.load(path, weights_only=True))
        for wrong, words in (("entry_000000.pt", "one, two"), ("entry_000001", "no capture has it; write CAPTURE/ENTRY, such as one/entry_000000.pt"), ("../x/y", "no entry"),
                             ("one/entry_9.pt", "cannot be read")):
            with self.assertRaisesRegex(StoreError, words):
                load(self.store, wrong)
        skeleton = recipe(self.store, "one", "entry_000000.pt")["skeleton"]
        path = os.path.join(self.store, "objects", skeleton[:2], skeleton)
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            file.seek(200)
            file.write(b"?")
        with self.assertRaisesRegex(StoreError, "damaged"):
            load(self.store, "one/entry_000000.pt")

    def entries_of_all_kinds(self):
        base = torch.arange(24.0).view(4, 6)
        yield "nothing", {}
        yield "an empty tensor", {"a": torch.empty(0), "b": torch.empty(0, 3)}
        yield "views of one storage", [base, base.t(), base[1:3, 2:], base.expand(2, 4, 6), base[0, 0]]
        yield "a view that drags its storage along", torch.randn(3000)[7:9]
        yield "the same object twice", [base, base, {"again": base}]
        yield "every dtype", [torch.ones(9, dtype=dtype) for dtype in (
            torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.uint16,
            torch.float8_e4m3fn)]
        yield "conj and neg", [torch.randn(5, dtype=torch.complex64).conj(), torch.randn(5, dtype=torch.complex64).conj().imag]
        yield "one with parts", [torch.eye(3).to_sparse(), torch.nn.Parameter(base)]
        yield "sizes around the blocks", [torch.randint(0, 255, (size,), dtype=torch.uint8) for size in (
            1, 63, 4095, 4096, 4097, (8 << 20) - 1, 8 << 20, (8 << 20) + 1)]
        yield "what looks like a descriptor", [torch.tensor([*b"PK\x07\x08", *[7] * count], dtype=torch.uint8) for count in (0, 3, 4, 5000)]
        yield "values", {"x": (1, 2.5, None, "text", torch.float32, torch.device("cuda:1"), torch.Size([2])), 3: b"bytes"}

    def test_entries_are_those_of_torch_save_byte_for_byte(self):
        expected = {}
        with Store(self.store) as store:
            for number, (kind, entry) in enumerate(self.entries_of_all_kinds()):
                name = f"entry_{number:06d}.pt"
                self.assertEqual(store.save(entry, "all"), name)
                expected[name] = kind, self.saved(entry, name)
        for name, (kind, content) in expected.items():
            with self.subTest(kind):
                self.assertTrue(put_together(self.store, "all", name) == content)
                torch.load(os.path.join(self.folder, name), weights_only=False)
        self.assert_sound()

    def test_files_without_checksums_and_of_another_alignment_are_too(self):
        from torch.utils.serialization import config
        entry = [torch.randn(5000), torch.zeros(0), torch.ones(3)]
        try:
            torch.serialization.set_crc32_options(False)
            with config.patch("save.storage_alignment", 4096), Store(self.store) as store:
                store.save(entry, "all")
                expected = self.saved(entry)
        finally:
            torch.serialization.set_crc32_options(True)
        self.assertTrue(put_together(self.store, "all", "entry_000000.pt") == expected)

    def test_a_real_model_is_captured_as_it_runs(self):
        model = Transformer()
        expected = {}

        def save(store, entry, capture, sources=None):
            name = original(store, entry, capture, sources)
            expected[capture, name] = entry["function_name"], self.saved(entry, name)
            return name

        original = Store.save
        before = dict(vars(F))
        with mock.patch.object(Store, "save", save):
            with capture(self.store) as captured:
                outputs = [model(torch.randint(0, 512, (2, 9))) for _ in range(3)]
        self.assertEqual(before, dict(vars(F)), "nothing stays hooked")
        self.assertEqual(len(outputs), 3)
        self.assertEqual(captured.entries["embedding"], 3)
        self.assertEqual(set(captured.entries), {
            "embedding", "layer_norm", "linear", "multi_head_attention_forward", "scaled_dot_product_attention"})
        self.assertEqual(len(expected), sum(captured.entries.values()))
        for (capture_name, name), (function, content) in expected.items():
            self.assertEqual(capture_name, function.replace(".", "_"))
            self.assertTrue(put_together(self.store, capture_name, name) == content, (capture_name, name))
        self.assert_sound()
        # Six calls capture the tied table, and the store has it once.
        table = blake3(model.embedding.weight.detach().view(torch.uint8).numpy().tobytes()).hexdigest()
        users = [key for key in expected if any(p["object"] == table for p in recipe(self.store, *key)["payloads"])]
        self.assertEqual({name for name, _ in users}, {"torch_nn_functional_embedding", "torch_nn_functional_linear"})
        self.assertEqual(len(users), 6)
        self.assertEqual(captured.entry_bytes, sum(len(content) for _, content in expected.values()))
        self.assertLess(captured.added_bytes, captured.entry_bytes / 2)

    def test_an_entry_says_what_kernelforge_s_does(self):
        weight = torch.randn(4, 3)
        with mock.patch.object(Store, "save", autospec=True) as save:
            with capture(self.store, ops=["embedding", "linear", "scaled_dot_product_attention"]):
                F.embedding(torch.tensor([1]), weight)
                F.linear(torch.ones(2, 3), weight)
                F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 2)] * 3, is_causal=True)
        embedding, linear, attention = (call.args[1] for call in save.call_args_list)
        self.assertEqual(list(embedding), ["function_name", "args", "kwargs", "output", "signature"])
        self.assertEqual((embedding["function_name"], embedding["args"]), ("torch.nn.functional.embedding", []))
        self.assertEqual(list(embedding["kwargs"]), embedding["signature"]["params"])
        self.assertEqual(embedding["signature"]["defaults"]["norm_type"], 2.0)
        self.assertEqual(embedding["kwargs"]["weight"].data_ptr(), weight.data_ptr(), "nothing is copied")
        self.assertEqual(linear["signature"], {"params": ["input", "weight", "bias"], "defaults": {"bias": None}})
        self.assertIsNone(linear["kwargs"]["bias"])
        self.assertEqual((len(attention["args"]), attention["kwargs"]), (3, {"is_causal": True}))
        self.assertNotIn("signature", attention)

    def test_operators_are_chosen_and_counted(self):
        with capture(self.store, ops=["rel*", "torch.nn.functional.silu"], max_per_op=2, prefix="small_") as captured:
            for _ in range(3):
                F.relu(torch.ones(2)), F.silu(torch.ones(2)), F.gelu(torch.ones(2))
        self.assertEqual(captured.entries, {"relu": 2, "silu": 2})
        names = sorted(os.listdir(os.path.join(self.store, "captures")))
        self.assertEqual(names, ["small_torch_nn_functional_relu", "small_torch_nn_functional_silu"])
        with capture(self.store, ops=["relu"], prefix="small_"):
            F.relu(torch.ones(3))
        entries = sorted(os.listdir(os.path.join(self.store, "captures", "small_torch_nn_functional_relu")))
        self.assertEqual(entries, [f"entry_{number:06d}.pt" for number in range(3)], "a later capture goes on")
        with self.assertRaisesRegex(ValueError, "no function of torch.nn.functional is one of rellu"):
            with capture(self.store, ops=["rellu"]):
                pass

    def test_calls_that_no_kernel_can_be_checked_on_are_left_out(self):
        table = torch.full((4, 2), 9.0)
        with capture(self.store) as captured:
            F.dropout(torch.ones(4))
            F.relu(torch.ones(2), inplace=True)
            F.embedding(torch.tensor([1]), table, max_norm=1.0)
            query = torch.ones(1, 1, 2, 2)
            F.scaled_dot_product_attention(query, query, query, None, 0.5)
            F.relu_(torch.ones(2))
            with torch.inference_mode():
                F.silu(torch.ones(2), True)
            F.gelu(torch.ones(2))
        self.assertEqual(captured.entries, {"gelu": 1})
        skipped = {name: reason for name, reason in captured.skipped}
        writes = "it wrote to its arguments"
        self.assertEqual(skipped, {"relu": writes, "relu_": writes, "silu": writes, "embedding": writes,
                                   "scaled_dot_product_attention": "it drops out at random"})
        self.assert_sound()

    def test_what_cannot_be_saved_is_said_and_costs_the_others_nothing(self):
        shared = torch.ones(4)
        with capture(self.store, ops=["relu", "gelu"]) as captured:
            F.relu(torch.ones(2))
            F.gelu(shared)
        with Store(self.store) as store:
            quantized = torch.quantize_per_tensor(torch.randn(50), 0.1, 3, torch.quint8)
            for value, why in ((lambda: 0, "pickle"), (quantized, "qtensor"), ([shared, shared.view(torch.int32).untyped_storage()], "different types")):
                with self.assertRaisesRegex(NotSaved, why):
                    store.save({"value": value, "large": torch.randn(5000)}, "more")
            self.assertEqual(store.save([shared], "more"), "entry_000000.pt")
        self.assertEqual(sum(captured.entries.values()), 2)
        self.assert_sound()

    def test_a_repeated_weight_is_written_once_wherever_it_lies(self):
        weight = torch.randn(3 << 20)
        with Store(self.store) as store:
            written = []
            original = writing.write

            def counted(file, content):
                written.append(len(content))
                original(file, content)

            with mock.patch.object(writing, "write", counted):
                for entry in ([weight], [weight, 1], [weight.clone()], [weight.view(3, -1)], [weight.clone()[5:]]):
                    store.save(entry, "all")
        self.assertLess(sum(written), weight.nbytes + 100_000)
        with Store(self.store) as store, mock.patch.object(writing, "write", counted):
            written.clear()
            store.save([weight], "later")
        self.assertLess(sum(written), 10_000, "a later session knows what the store has")

    def test_memory_that_is_used_again_or_written_to_is_another_storage(self):
        weight = torch.zeros(3 << 20)
        contents = []
        with Store(self.store) as store:
            def save():
                store.save([weight], "all")
                contents.append(self.saved([weight], f"entry_{len(contents):06d}.pt"))

            save()
            weight.add_(1)
            save()
            # No version counter sees either change, and neither changes the beginning or the end.
            weight.data[1 << 20] = 7
            save()
            weight.numpy()[1 << 20] = 8
            save()
            for value in (1, 2, 3):
                pointer = weight.data_ptr()
                del weight
                weight = torch.full((3 << 20,), float(value))
                save()
                del pointer
        for number, content in enumerate(contents):
            self.assertTrue(put_together(self.store, "all", f"entry_{number:06d}.pt") == content, number)
        self.assert_sound()

    def test_a_tensor_that_is_written_to_meanwhile_is_not_saved(self):
        weight = torch.zeros(3 << 20)
        original = storages.Source.blocks

        def changing(source, block):
            weight.add_(1)
            yield from original(source, block)

        with Store(self.store) as store, mock.patch.object(storages.Source, "blocks", changing):
            with self.assertRaisesRegex(NotSaved, "being written to"):
                store.save([weight], "all")
        self.assert_sound()

    def test_a_tensor_of_another_device_is_saved_as_its_copy_on_the_host(self):
        base = torch.randn(40, 30)
        for number, tensor in enumerate((base, base[3:9], base.t(), base[:, ::2], base.expand(2, 40, 30), torch.randn(0, 4))):
            sources = {}
            host = storages.stand_in(tensor, sources)
            copy = tensor.clone(memory_format=torch.preserve_format)
            with Store(self.store) as store:
                store.save([host], "device", sources)
            expected = self.saved([copy], f"entry_{number:06d}.pt")
            self.assertTrue(put_together(self.store, "device", f"entry_{number:06d}.pt") == expected, number)

    def test_a_store_is_made_like_that_of_pack_and_nothing_else_is_taken_for_one(self):
        os.mkdir(self.store)
        with open(os.path.join(self.store, "notes.txt"), "w") as file:
            file.write("mine")
        with self.assertRaisesRegex(StoreError, "holds other things"):
            Store(self.store)
        os.remove(os.path.join(self.store, "notes.txt"))
        Store(self.store).close()
        marker = os.path.join(self.store, "plimsoll-store.json")
        with open(marker, "w") as file:
            file.write('{"format": "plimsoll.store/2"}')
        with self.assertRaisesRegex(StoreError, "plimsoll.store/1"):
            Store(self.store)
        with self.assertRaisesRegex(StoreError, "/proc/store"):
            Store("/proc/store")
        with Store(os.path.join(self.folder, "other")) as store, self.assertRaisesRegex(StoreError, "name of a capture"):
            store.save([1], "../up")

    def test_another_torch_is_refused_with_what_to_do(self):
        with mock.patch.object(layout, "combine", lambda seed, value: 0):
            with self.assertRaisesRegex(StoreError, "plimsoll pack"):
                Store(self.store)
        self.assert_sound()

    def test_an_exception_of_the_model_keeps_what_was_captured(self):
        with self.assertRaisesRegex(RuntimeError, "the model's own"):
            with capture(self.store, ops=["relu"]):
                F.relu(torch.ones(2))
                raise RuntimeError("the model's own")
        self.assertEqual(F.relu.__name__, "relu")
        self.assertFalse(hasattr(F.relu, "__wrapped__"))
        self.assertTrue(put_together(self.store, "torch_nn_functional_relu", "entry_000000.pt"))
        self.assert_sound()

    def test_writers_of_one_capture_take_different_numbers(self):
        with Store(self.store) as one, Store(self.store) as other:
            for value in range(3):
                one.save([torch.full((5000,), 1.0), value], "all")
                other.save([torch.full((5000,), 1.0), -value], "all")
        names = sorted(os.listdir(os.path.join(self.store, "captures", "all")))
        self.assertEqual(names, [f"entry_{number:06d}.pt" for number in range(6)])
        for name in names:
            put_together(self.store, "all", name)
        self.assert_sound()

    def test_names_come_after_what_they_lead_to_is_on_the_disk(self):
        steps = []
        real_link, real_sync = writing.link, writing.sync

        def link(path, final):
            steps.append(("name", os.path.relpath(final, self.store)))
            return real_link(path, final)

        def sync(path):
            steps.append(("sync", os.path.relpath(path, self.store)))
            real_sync(path)

        with Store(self.store) as store, mock.patch.object(writing, "link", link), mock.patch.object(writing, "sync", sync):
            store.save([torch.randn(5000), torch.randn(3)], "all")
            store.commit()
        kind = lambda step: (step[0], step[1].split(os.sep)[0] + ("/" if os.sep in step[1] else ""))
        order = [kind(step) for step in steps]
        squeezed = [step for at, step in enumerate(order) if at == 0 or order[at - 1] != step]
        self.assertEqual(squeezed, [
            ("sync", "tmp/"), ("name", "objects/"), ("sync", "objects/"), ("sync", "objects"),
            ("sync", "tmp/"), ("name", "captures/"), ("sync", "captures/"), ("sync", "captures")])

    def test_a_full_disk_is_said_and_leaves_the_store_whole(self):
        with Store(self.store) as store:
            store.save([torch.ones(5000)], "all")
        original = writing.write

        def full(file, content):
            if len(content) > 10_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            original(file, content)

        with mock.patch.object(writing, "write", full), self.assertRaisesRegex(StoreError, "No space left on device"):
            with Store(self.store) as store:
                store.save([torch.zeros(3)], "all")
                store.save([torch.zeros(5000)], "all")
        self.assertEqual(len(os.listdir(os.path.join(self.store, "captures", "all"))), 2)
        self.assert_sound()

    def test_a_kill_at_any_moment_leaves_a_store_that_is_whole(self):
        script = os.path.join(self.folder, "killed.py")
        with open(script, "w") as file:
            file.write(KILLED)
        moments = 60
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        subprocess.run([sys.executable, script, self.folder, str(moments)], check=True, env=environment)
        counts = []
        for moment in range(1, moments):
            store = os.path.join(self.folder, f"store-{moment}")
            shutil.rmtree(os.path.join(store, "tmp"))
            os.mkdir(os.path.join(store, "tmp"))
            folder = os.path.join(store, "captures", "all")
            entries = os.listdir(folder) if os.path.exists(folder) else []
            for entry in entries:
                put_together(store, "all", entry)
            self.assert_sound(store)
            counts.append(len(entries))
        self.assertEqual((counts[0], counts[-1]), (0, 3))

    def test_a_script_is_captured_as_it_is(self):
        script = os.path.join(self.folder, "script.py")
        with open(script, "w") as file:
            file.write("import sys, torch.nn.functional as F, torch\n"
                       "for _ in range(3): F.relu(torch.ones(2)), F.gelu(torch.ones(2))\n"
                       "print(sys.argv[1:], __name__)\nsys.exit(5)\n")

        def run(*arguments):
            command = [sys.executable, "-m", "plimsoll_capture", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGE})
            return done.returncode, done.stdout, done.stderr

        code, out, err = run(self.store, "--op", "relu", "--max-per-op", "2", script, "--its", "own")
        self.assertEqual((code, out), (5, "['--its', 'own'] __main__\n"))
        self.assertRegex(err, r"^relu: 2 entries\n2 entries, 0.00 MiB, 0.0\d MiB added to the store\n$")
        self.assertEqual(os.listdir(os.path.join(self.store, "captures")), ["torch_nn_functional_relu"])
        code, out, err = run(self.store, "--op", "rellu", script)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("no function of torch.nn.functional is one of rellu", err)

    def test_memory_beside_the_model_is_bounded(self):
        script = "import sys, resource, torch\nimport torch.nn.functional as F\nfrom plimsoll_capture import capture\n" + MEASURED
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        grown = int(subprocess.check_output([sys.executable, "-c", script, self.store], env=environment))
        self.assertLess(grown, 64 << 20)


# Forks a writer for every step, which ends abruptly before the step of that number.
KILLED = """
import os, sys
import torch
from plimsoll_capture import Store, store as writing

def counted(function, moment):
    def call(*args):
        global calls
        calls += 1
        if calls == moment:
            os._exit(0)
        return function(*args)
    return call

for moment in range(1, int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        store = Store(f"{sys.argv[1]}/store-{moment}")
        calls = 0
        for name in ("sync", "link", "write"):
            setattr(writing, name, counted(getattr(writing, name), moment))
        with store:
            for value in range(3):
                store.save([torch.full((5000,), float(value)), torch.ones(5000), torch.tensor(value)], "all")
        os._exit(0)
    os.waitpid(child, 0)
"""

# The table is 128 MiB, its output small.
MEASURED = """
table = torch.ones(1 << 18, 128)
index = torch.arange(8)
F.embedding(index, table)
with capture(sys.argv[1] + "-warm", ops=["embedding"]):
    F.embedding(index, torch.ones(9, 9))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
with capture(sys.argv[1], ops=["embedding"]):
    for _ in range(3):
        F.embedding(index, table)
print(peak() - before)
"""


if __name__ == "__main__":
    unittest.main()
