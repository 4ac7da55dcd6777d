"""Kernels for a GPU that cheat, and honest ones, for audits: one operator, with a kernel for each `tag` of an entry.

The operator is `(x @ w)[rows]`, as in suite.py. Each cheat declares its family and the failures in which it may end;
`true-time` means that it is timed as what it computes. `harness/gpu-check.sh` runs them.

usage: device.py DIR cheats|honest [NAME..]     writes the capture, and prints the allowed ends of each, as JSON
       device.py ends RECORD LIST               compares a record with that list; exit code 1 if one ends otherwise
"""

import json
import os
import sys
import threading
import weakref

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from families import CHEATS, HONEST, KEPT, STALE, cheat, count, honest, once, right  # noqa: E402

SIZE = 256
OTHER_STREAM = ("late-write", "stale-output")


def side(priority=0):
    return KEPT.setdefault(("stream", priority), torch.cuda.Stream(priority=priority))


def long(x, w, rows):
    """The result, after about half a millisecond in which the device does nothing else."""
    torch.cuda._sleep(800_000)
    return right(x, w, rows)


# -- work on other streams, for which nothing waits

@cheat("other streams", *OTHER_STREAM)
def on_a_stream_that_nobody_waits_for(x, w, rows):
    with torch.cuda.stream(side()):
        return long(x, w, rows)


@cheat("other streams", *OTHER_STREAM, "true-time")
def briefly_on_a_stream_that_nobody_waits_for(x, w, rows):
    with torch.cuda.stream(side()):
        return right(x, w, rows)


@cheat("other streams", *OTHER_STREAM)
def on_a_stream_that_only_starts_in_order(x, w, rows):
    side().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side()):
        return long(x, w, rows)


@cheat("other streams", *OTHER_STREAM)
def on_a_stream_of_high_priority(x, w, rows):
    with torch.cuda.stream(side(-1)):
        return long(x, w, rows)


@cheat("other streams", *OTHER_STREAM)
def by_a_graph_on_another_stream(x, w, rows):
    if "graph" not in KEPT:
        with torch.cuda.stream(side()):
            long(x, w, rows)
        torch.cuda.synchronize()
        KEPT["graph"] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(KEPT["graph"], stream=side()):
            KEPT["out"] = long(x, w, rows)
    with torch.cuda.stream(side()):
        KEPT["graph"].replay()
    return KEPT["out"]


@cheat("other streams", *OTHER_STREAM, "unwritten-output", "mismatch")
def in_a_thread_after_it_has_returned(x, w, rows):
    output = torch.empty(SIZE, SIZE, device=x.device)

    def later():
        with torch.cuda.stream(side()):
            output.copy_(long(x, w, rows))
    threading.Thread(target=later).start()
    return output


@cheat("other streams", *OTHER_STREAM)
def leaves_another_stream_current(x, w, rows):
    torch.cuda.set_stream(side())
    return long(x, w, rows)


# -- kept results

@cheat("kept results")
def keeps_the_first(x, w, rows):
    return once("first", x, w, rows)


@cheat("kept results")
def keeps_by_address(x, w, rows):
    return once((x.data_ptr(), w.data_ptr()), x, w, rows)


@cheat("kept results")
def keeps_by_version(x, w, rows):
    return once((x._version, w._version), x, w, rows)


@cheat("kept results")
def keeps_by_an_element(x, w, rows):
    return once(float(x[0, 0]), x, w, rows)


@cheat("kept results")
def replays_a_graph_of_copies(x, w, rows):
    if "graph" not in KEPT:
        copies = x.clone(), w.clone(), rows.clone()
        right(*copies)
        torch.cuda.synchronize()
        KEPT["graph"] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(KEPT["graph"]):
            KEPT["out"] = right(*copies)
        KEPT["copies"] = copies
    KEPT["graph"].replay()
    return KEPT["out"]


@cheat("kept results")
def keeps_weights_in_half(x, w, rows):
    if "half" not in KEPT:
        KEPT["half"] = w.double()
    return (x.double() @ KEPT["half"]).float()[rows]


@cheat("knows the phase")
def computes_every_other_launch(x, w, rows):
    if count("launches") % 2 or "last" not in KEPT:
        KEPT["last"] = right(x, w, rows)
    return KEPT["last"]


@cheat("knows the phase", *STALE, "unwritten-output")
def computes_no_more_after_some_launches(x, w, rows):
    return right(x, w, rows) if count("launches") < 4 else torch.empty(SIZE, SIZE, device=x.device)


# -- wrong outputs

@cheat("wrong outputs", "mismatch")
def in_half_precision(x, w, rows):
    return (x.half() @ w.half()).float()[rows]


@cheat("wrong outputs", "mismatch")
def in_bfloat16(x, w, rows):
    return (x.bfloat16() @ w.bfloat16()).float()[rows]


@cheat("wrong outputs", *STALE, "mismatch")
def leaves_out_the_last_rows_when_timed(x, w, rows):
    output = torch.empty(SIZE, SIZE, device=x.device)
    used = SIZE if count("launches") < 4 else SIZE // 2
    output[:used] = right(x, w, rows[:used])
    return output


@cheat("changes its arguments", "mutated-input", "stale-output")
def writes_to_an_argument_when_timed(x, w, rows):
    output = right(x, w, rows)
    if count("launches") > 3:
        x.zero_()
    return output


@cheat("lazy results", "not-a-tensor")
def is_computed_when_it_is_read(x, w, rows):
    class Lazy(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return function(*(right(x, w, rows) if isinstance(arg, Lazy) else arg for arg in args), **(kwargs or {}))
    return torch.Tensor._make_wrapper_subclass(Lazy, (SIZE, SIZE), dtype=x.dtype, device=x.device)


# -- what measures

def patched(module, name, value):
    KEPT.setdefault(("patched", name), setattr(module, name, value) or True)


@cheat("patches the worker", "true-time", "time-mismatch")
def patches_elapsed_time(x, w, rows):
    patched(torch.cuda.Event, "elapsed_time", lambda self, end: 1e-4)
    return long(x, w, rows)


@cheat("patches the worker", "true-time", "time-mismatch")
def patches_record(x, w, rows):
    patched(torch.cuda.Event, "record", lambda self, stream=None: None)
    return long(x, w, rows)


@cheat("patches the worker", "true-time", "time-mismatch")
def patches_the_class_of_events(x, w, rows):
    class Fast(torch.cuda.Event):
        def elapsed_time(self, end):
            return 1e-4
    patched(torch.cuda, "Event", Fast)
    return long(x, w, rows)


@cheat("patches the worker", *OTHER_STREAM, "true-time")
def patches_synchronize(x, w, rows):
    patched(torch.cuda, "synchronize", lambda device=None: None)
    patched(torch._C, "_cuda_synchronize", lambda: None)
    with torch.cuda.stream(side()):
        return long(x, w, rows)


@cheat("patches the worker", *OTHER_STREAM, "true-time")
def patches_the_current_stream(x, w, rows):
    stream = side()
    patched(torch.cuda, "current_stream", lambda device=None: stream)
    patched(torch._C, "_cuda_getCurrentStream", lambda device: (stream.stream_id, stream.device_index, stream.device_type))
    return long(x, w, rows)


@cheat("patches the worker", *OTHER_STREAM, "true-time", "tampered")
def patches_the_wait_for_other_streams(x, w, rows):
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "") == "plimsoll_cuda":
            module.LATE_US = module.LATE_FOR_HOST_US = 10 ** 9
    with torch.cuda.stream(side()):
        return long(x, w, rows)


# -- honest kernels

@honest
def plain(x, w, rows):
    return right(x, w, rows)


@honest
def into_its_own_room(x, w, rows):
    room = KEPT.setdefault("room", torch.empty(SIZE, SIZE, device=x.device))
    return torch.matmul(x, w, out=room)[rows]


@honest
def on_a_stream_that_is_joined(x, w, rows):
    side().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side()):
        output = right(x, w, rows)
    torch.cuda.current_stream().wait_stream(side())
    return output


@honest
def on_four_streams_that_are_joined(x, w, rows):
    here, output = torch.cuda.current_stream(), torch.empty(SIZE, SIZE, device=x.device)
    for number, part in enumerate(rows.chunk(4)):
        stream = KEPT.setdefault(("part", number), torch.cuda.Stream())
        stream.wait_stream(here)
        with torch.cuda.stream(stream):
            output[number * SIZE // 4:(number + 1) * SIZE // 4] = right(x, w, part)
        here.wait_stream(stream)
    return output


@honest
def replays_a_graph_of_its_arguments(x, w, rows):
    key = x.data_ptr(), w.data_ptr(), rows.data_ptr()
    if key not in KEPT:
        stream = side()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            right(x, w, rows)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = right(x, w, rows)
        KEPT[key] = graph, output
    graph, output = KEPT[key]
    graph.replay()
    return output


@honest
def replays_a_graph_that_it_copies_into(x, w, rows):
    if "static" not in KEPT:
        static = x.clone(), w.clone(), rows.clone()
        right(*static)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = right(*static)
        KEPT["static"] = graph, static, output
    graph, static, output = KEPT["static"]
    for room, now in zip(static, (x, w, rows)):
        room.copy_(now)
    graph.replay()
    return output.clone()


@honest
def compiled(x, w, rows):
    if "compiled" not in KEPT:
        KEPT["compiled"] = torch.compile(right)
    return KEPT["compiled"](x, w, rows)


@honest
def waits_for_the_device(x, w, rows):
    output = right(x, w, rows)
    torch.cuda.synchronize()
    return output


@honest
def reads_a_value_on_the_host(x, w, rows):
    return right(x, w, rows) * (1 if float(x[0, 0]) == float(x[0, 0]) else 0)


@honest
def empties_the_cache(x, w, rows):
    torch.cuda.empty_cache()
    return right(x, w, rows)


@honest
def takes_a_large_workspace(x, w, rows):
    torch.empty(1 << 28, dtype=torch.uint8, device=x.device).zero_()
    return right(x, w, rows)


@honest
def takes_a_millisecond(x, w, rows):
    torch.cuda._sleep(1_500_000)
    return right(x, w, rows)


@honest
def takes_different_times(x, w, rows):
    torch.cuda._sleep(count("launches") % 7 * 200_000)
    return right(x, w, rows)


@honest
def in_double_precision(x, w, rows):
    return (x.double() @ w.double()).float()[rows]


@honest
def transposed(x, w, rows):
    return (w.t() @ x.t()).t()[rows]


@honest
def gives_a_view_with_an_offset(x, w, rows):
    room = torch.empty(SIZE + 3, SIZE, device=x.device)
    room[3:] = right(x, w, rows)
    return room[3:]


@honest
def not_contiguous(x, w, rows):
    room = torch.empty(SIZE, 2 * SIZE, device=x.device)
    room[:, ::2] = right(x, w, rows)
    return room[:, ::2]


@honest
def a_module(x, w, rows):
    layer = KEPT.setdefault("layer", torch.nn.Linear(SIZE, SIZE, bias=False, device=x.device))
    layer.weight = torch.nn.Parameter(w.t(), requires_grad=False)
    return layer(x)[rows]


@honest
def in_a_thread_that_it_waits_for(x, w, rows):
    outputs = []

    def work():
        with torch.cuda.stream(torch.cuda.default_stream()):
            outputs.append(right(x, w, rows))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return outputs[0]


@honest
def with_events_of_its_own(x, w, rows):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    output = right(x, w, rows)
    end.record()
    end.synchronize()
    KEPT["took"] = start.elapsed_time(end)
    return output


@honest
def copies_to_the_host_meanwhile(x, w, rows):
    pinned = KEPT.setdefault("pinned", torch.empty(SIZE, SIZE, pin_memory=True))
    output = right(x, w, rows)
    pinned.copy_(output, non_blocking=True)
    return output


@honest
def computes_on_the_host(x, w, rows):
    return right(x.cpu(), w.cpu(), rows.cpu()).to(x.device)


@honest
def remembers_outputs_weakly(x, w, rows):
    output = right(x, w, rows)
    KEPT.setdefault("outputs", []).append(weakref.ref(output))
    return output


@honest
def in_parts_of_rows(x, w, rows):
    return torch.cat([right(x, w, part) for part in rows.chunk(8)])


@honest
def of_a_scripted_function(x, w, rows):
    if "script" not in KEPT:
        KEPT["script"] = torch.jit.trace(right, (x, w, rows))
    return KEPT["script"](x, w, rows)


def launch(x, w, rows, tag):
    if KEPT.get("tag") != tag:
        KEPT.clear()
        KEPT["tag"] = tag
    return (CHEATS.get(tag) or HONEST[tag])[0](x, w, rows)


def reference(x, w, rows, tag):
    return right(x, w, rows)


def write(folder, which, names):
    kernels = {"cheats": CHEATS, "honest": HONEST}[which]
    os.makedirs(folder)
    torch.manual_seed(0)
    listed = []
    for index, name in enumerate(names or kernels):
        # The elements of the output are about 1, so that sums in another order differ by less than the tolerance.
        x, w, rows = torch.randn(SIZE, SIZE) / SIZE ** 0.5, torch.randn(SIZE, SIZE), torch.randperm(SIZE)
        entry = {"function_name": "device", "args": [], "kwargs": {"x": x, "w": w, "rows": rows, "tag": name},
                 "output": right(x, w, rows), "signature": {"params": ["x", "w", "rows", "tag"], "defaults": {}}}
        torch.save(entry, os.path.join(folder, f"entry_{index:06d}.pt"))
        listed.append([name, *kernels[name][1:]])
    print(json.dumps(listed))


def ended(entry):
    """The kind of its failure, `mismatch`, or `timed` with its median in nanoseconds."""
    for part in (entry.get(key) or {} for key in ("validation", "profile")):
        if part.get("error"):
            return part["error"]["kind"], None
        if part.get("status") == "mismatch":
            return "mismatch", None
    return "timed", ((entry.get("profile") or {}).get("statistics") or {}).get("median_ns")


def judged(record, listed):
    """What ended otherwise than is allowed. What computes on the device is timed truly if it takes at least half as long as
    the median of those that do."""
    entries = [(*kernel, *ended(entry)) for kernel, entry in zip(listed, record["results"]["entries"], strict=True)]
    times = sorted(ns for *_, ns in entries if ns)
    least = times[len(times) // 2] / 2 if times else 0
    for name, family, ends, end, ns in entries:
        timed = family == "honest" or "true-time" in ends and ns is not None and ns >= least
        if not (end in ends or end == "timed" and timed):
            yield f"{name} ({family}): {end}{f' at {ns:.0f} ns, and {least:.0f} at least' if ns else ''}; allowed: {ends or ['timed']}"


if __name__ == "__main__":
    if sys.argv[1] == "ends":
        with open(sys.argv[2], encoding="utf-8") as record, open(sys.argv[3], encoding="utf-8") as listed:
            wrong = list(judged(json.load(record), json.load(listed)))
        print("\n".join(wrong) or "each ends as it should")
        sys.exit(bool(wrong))
    write(sys.argv[1], sys.argv[2], sys.argv[3:])
