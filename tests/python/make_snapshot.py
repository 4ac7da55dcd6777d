#!/usr/bin/env python3
"""Writes memory snapshots as torch writes them, without a GPU.

    make_snapshot.py OUT.pickle [--entries N] [--protocol 2..5 | --torch] [--context alloc|all] [--oom] [--seed N]

A small caching allocator runs the memory of a training loop: parameters, activations, gradients, optimizer state, a
leak. What it records has the schema of torch.cuda.memory._snapshot, and the sharing of its objects: frames and stacks
are objects that many records refer to, as torch makes them, so that the pickle has the memo references of a real one.
--torch writes it with torch's own C++ Pickler, as torch._C._cuda_memorySnapshot's pickled form is.
"""

import argparse
import pickle
import random

MIB = 1 << 20


class Allocator:
    """Best fit over segments, with a trace: what matters here of c10/cuda/CUDACachingAllocator.cpp."""

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
        # A new list for each allocation, of frames that are shared.
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
    """Steps of a training loop, until `stop` says so."""
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


def write_with_torch(snapshot, path):
    """The C++ Pickler of a TorchScript program: what torch::cuda::_memory_snapshot_pickled writes with."""
    import torch

    if not hasattr(torch._C, "_pickle_save"):
        raise SystemExit("this torch has no torch._C._pickle_save")
    with open(path, "wb") as file:
        file.write(bytes(torch._C._pickle_save(snapshot)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--protocol", type=int, default=4)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--context", choices=["alloc", "all"], default="alloc")
    parser.add_argument("--oom", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    snapshot = generate(arguments.entries, arguments.context, arguments.oom, arguments.seed, arguments.frames)
    if arguments.torch:
        write_with_torch(snapshot, arguments.out)
    else:
        with open(arguments.out, "wb") as file:
            pickle.dump(snapshot, file, protocol=arguments.protocol)


if __name__ == "__main__":
    main()
