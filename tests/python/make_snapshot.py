#!/usr/bin/env python3
"""Writes memory snapshots in torch's format, without a GPU.

    make_snapshot.py OUT.pickle [--entries N] [--frames N] [--protocol 2..5 | --torch] [--context alloc|all] [--oom]
    make_snapshot.py --check

A small caching allocator runs the memory of a training loop: parameters, activations, gradients, optimizer state, a
leak. Its records have the schema of torch.cuda.memory._snapshot, and share objects in the same way: many records refer
to the same frames and stacks, so that the pickle has realistic memo references. --torch writes it in the form of
torch's C++ Pickler, as torch::cuda::_memory_snapshot_pickled does.
"""

import argparse
import pickle
import random
import struct

MIB = 1 << 20


class Allocator:
    """Best fit over segments, with a trace: the relevant part of c10/cuda/CUDACachingAllocator.cpp."""

    def __init__(self, entries, context, frames_deep):
        self.entries, self.context = entries, context
        self.trace, self.segments = [], []
        self.time, self.next_address = 1_700_000_000_000_000, 0x7F00_0000_0000
        self.frame_objects, self.deep = {}, frames_deep
        self.live = {}
        self.dropped = 0

    def frame(self, filename, line, name):
        key = (filename, line, name)
        return self.frame_objects.setdefault(key, {"filename": filename, "name": name, "line": line})

    def stack(self, *inner):
        library = "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py"
        outer = [self.frame(library, 1700 + i % 80, "_wrapped_call_impl") for i in range(self.deep)]
        # A new list for each allocation, of shared frames.
        frames = [self.frame(*frame) for frame in inner]
        return frames + outer + [self.frame("/home/user/train.py", 12, "<module>")]

    def record(self, action, address, size, frames, key="addr"):
        self.time += 7
        entry = {
            "action": action,
            key: address,
            "size": size,
            "stream": 0,
            "time_us": self.time,
            "compile_context": "N/A",
            "user_metadata": "",
        }
        if frames is not None:
            entry["frames"] = frames
        self.trace.append(entry)
        if len(self.trace) > 2 * self.entries:
            self.dropped += len(self.trace) - self.entries
            del self.trace[: -self.entries]

    def alloc(self, size, *stack):
        rounded = max(512, (size + 511) // 512 * 512)
        frames = self.stack(*stack)
        best = None
        for segment in self.segments:
            if (segment["segment_type"] == "small") != (rounded <= MIB):
                continue
            for at, block in enumerate(segment["blocks"]):
                if block["state"] == "inactive" and block["size"] >= rounded:
                    if best is None or block["size"] < best[0]["blocks"][best[1]]["size"]:
                        best = (segment, at)
        if best is None:
            total = 2 * MIB if rounded <= MIB else 20 * MIB if rounded < 10 * MIB else (rounded + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
            address = self.next_address
            self.next_address += total + 2 * MIB
            block = {"address": address, "size": total, "requested_size": 0, "state": "inactive", "frames": []}
            segment = {
                "device": 0,
                "address": address,
                "total_size": total,
                "allocated_size": 0,
                "active_size": 0,
                "requested_size": 0,
                "stream": 0,
                "segment_type": "small" if rounded <= MIB else "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": frames,
                "blocks": [block],
            }
            self.segments.append(segment)
            self.record("segment_alloc", address, total, frames)
            best = (segment, 0)
        segment, at = best
        block = segment["blocks"][at]
        if block["size"] > rounded:
            rest = dict(block, address=block["address"] + rounded, size=block["size"] - rounded, frames=[])
            segment["blocks"].insert(at + 1, rest)
        block.update(size=rounded, requested_size=size, state="active_allocated", frames=frames)
        segment["allocated_size"] += rounded
        segment["active_size"] += rounded
        segment["requested_size"] += size
        self.live[block["address"]] = (segment, block)
        self.record("alloc", block["address"], size, frames)
        return block["address"]

    def free(self, address, pending=False):
        segment, block = self.live.pop(address)
        frames = self.stack(("/home/user/train.py", 99, "collect")) if self.context == "all" else block["frames"]
        self.record("free_requested", address, block["requested_size"], frames)
        segment["allocated_size"] -= block["size"]
        if pending:
            block["state"] = "active_pending_free"
            return
        self.record("free_completed", address, block["requested_size"], frames)
        segment["active_size"] -= block["size"]
        segment["requested_size"] -= block["requested_size"]
        block.update(state="inactive", requested_size=0, frames=[])
        blocks = segment["blocks"]
        at = next(at for at, other in enumerate(blocks) if other is block)
        for other in (at + 1, at):
            if 0 < other < len(blocks) and blocks[other]["state"] == blocks[other - 1]["state"] == "inactive":
                blocks[other - 1]["size"] += blocks[other]["size"]
                del blocks[other]

    def oom(self, size, device_free, *stack):
        self.record("oom", device_free, size, self.stack(*stack), key="device_free")

    def snapshot(self):
        return {
            "segments": self.segments,
            "device_traces": [self.trace[-self.entries :]],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512",
                "max_split_size": 512 * MIB,
                "garbage_collection_threshold": 0.0,
                "expandable_segments": False,
                "pinned_num_register_threads": 1,
                "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False,
                "roundup_power2_divisions": {"1": 0, "2": 0, "4": 8},
            },
            "external_annotations": [{"name": "step", "device": 0, "stage": "START", "time_us": self.time}],
        }


def train(allocator, rng, layers, stop):
    """Steps of a training loop, until `stop` returns true."""
    module = "/usr/lib/python3.11/site-packages/torch/nn/modules/"
    size = lambda: rng.randrange(1 * MIB, 12 * MIB)
    parameters = [allocator.alloc(size(), (module + "linear.py", 96, "__init__")) for _ in range(layers)]
    state = []
    leaked = 0
    while not stop():
        activations = []
        for layer in range(layers):
            activations.append(allocator.alloc(size(), ("/home/user/model.py", 40 + layer, "forward")))
            scratch = allocator.alloc(rng.randrange(1, MIB), (module + "../functional.py", 2000, "softmax"))
            allocator.free(scratch)
        gradients = []
        for layer in range(layers):
            gradients.append(allocator.alloc(size(), ("/usr/lib/python3.11/site-packages/torch/autograd/graph.py", 825, "_engine_run_backward")))
            allocator.free(activations.pop())
        if not state:
            optimizer = "/usr/lib/python3.11/site-packages/torch/optim/adamw.py"
            state = [allocator.alloc(size(), (optimizer, 150, "_init_group"), (optimizer, 240, "step")) for _ in range(2 * layers)]
        for gradient in gradients:
            allocator.free(gradient)
        if leaked < 400:
            allocator.alloc(64 << 10, ("/home/user/metrics.py", 7, "append_loss"))
            leaked += 1
    return parameters


def generate(entries, context, oom, seed, deep):
    rng = random.Random(seed)
    allocator = Allocator(entries, context, deep)
    train(allocator, rng, 12, lambda: len(allocator.trace) + allocator.dropped >= entries)
    last = allocator.alloc(3 * MIB, ("/home/user/model.py", 77, "forward"))
    allocator.free(last, pending=True)
    if oom:
        allocator.oom(500 * MIB, 20 * MIB, ("/home/user/model.py", 81, "forward"))
    return allocator.snapshot()


class TorchPickler:
    """Pickles like torch's C++ Pickler (torch/csrc/jit/serialization/pickler.cpp): protocol 2, memo entries after the
    object and only for shared ones, text by content, integers in 1, 2, 4 or 8 bytes, and type tags if requested.
    `--check` compares it with torch._C._pickle_save, which does not accept a dictionary of mixed values."""

    def __init__(self, tags=False):
        self.out, self.memo, self.counts, self.tags = bytearray(b"\x80\x02"), {}, {}, tags

    def count(self, value):
        if isinstance(value, (dict, list)):
            self.counts[id(value)] = self.counts.get(id(value), 0) + 1
            if self.counts[id(value)] == 1:
                for item in value.values() if isinstance(value, dict) else value:
                    self.count(item)

    def put(self, key):
        self.memo[key] = index = len(self.memo)
        self.out += b"q%c" % index if index < 256 else b"r" + struct.pack("<I", index)

    def get(self, key):
        if key not in self.memo:
            return False
        index = self.memo[key]
        self.out += b"h%c" % index if index < 256 else b"j" + struct.pack("<I", index)
        return True

    def dump(self, value):
        self.count(value)
        self.push(value)
        return bytes(self.out + b".")

    def push(self, value):
        if value is None or isinstance(value, bool):
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            if 0 <= value < 1 << 16:
                self.out += b"K%c" % value if value < 256 else b"M" + struct.pack("<H", value)
            elif -(1 << 31) <= value < 1 << 31:
                self.out += b"J" + struct.pack("<i", value)
            else:
                self.out += b"\x8a\x08" + struct.pack("<q", value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            if not self.get(value):
                text = value.encode()
                self.out += b"X" + struct.pack("<I", len(text)) + text
                self.put(value)
        elif isinstance(value, tuple):
            for item in value:
                self.push(item)
            self.out += (b")", b"\x85", b"\x86", b"\x87")[len(value)]
        elif not self.get(id(value)):
            self.container(value)

    def container(self, value):
        if self.tags and not self.get("GLOBAL restore_type_tag"):
            self.out += b"ctorch.jit._pickle\nrestore_type_tag\n"
            self.put("GLOBAL restore_type_tag")
        self.out += b"}(" if isinstance(value, dict) else b"]("
        for item in value.items() if isinstance(value, dict) else value:
            if isinstance(value, dict):
                self.push(item[0])
                self.push(item[1])
            else:
                self.push(item)
        self.out += b"u" if isinstance(value, dict) else b"e"
        if self.tags:
            self.push(annotation(value))
            self.out += b"\x86R"
        if self.counts[id(value)] > 1:
            self.put(id(value))


def annotation(value):
    """The TorchScript type of nested dictionaries and lists of one kind."""
    if isinstance(value, dict):
        return f"Dict[str, {annotation(next(iter(value.values())))}]"
    return f"List[{annotation(value[0])}]" if isinstance(value, list) else type(value).__name__


def check():
    """Compares TorchPickler with torch's own on values that both can write."""
    import io
    import zipfile

    import torch

    for value in ({"a": [{"size": 5, "b": 70000}, {"size": 1 << 40}, {"b": -1}]}, {"a": {"x": 0.5}}, {"s": ["a", "s"]}):
        archive = zipfile.ZipFile(io.BytesIO(bytes(torch._C._pickle_save(value))))
        expected, made = archive.read("archive/data.pkl"), TorchPickler(tags=True).dump(value)
        assert made == expected, (value, made, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?")
    parser.add_argument("--check", action="store_true", help="compare the C++ Pickler's form with torch's own, and end")
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--protocol", type=int, default=4)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--context", choices=["alloc", "all"], default="alloc")
    parser.add_argument("--oom", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    snapshot = generate(arguments.entries, arguments.context, arguments.oom, arguments.seed, arguments.frames)
    if arguments.torch:
        content = TorchPickler().dump(snapshot)
    else:
        content = pickle.dumps(snapshot, protocol=arguments.protocol)
    with open(arguments.out, "wb") as file:
        file.write(content)


if __name__ == "__main__":
    main()
