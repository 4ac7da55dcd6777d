"""Kernels that cheat, and honest ones, for audits: one operator, with a kernel for each `tag` of an entry.

The operator is `(x @ w)[rows]`. `suite_capture.py` writes an entry for each kernel; `launch` is audited, and
`reference` is right. Each cheat declares its family, and the failures in which it may end. `true-time` means that it
computes during timing after all: its remembered results never match.
"""

import ctypes
import mmap
import os
import random
import sys
import threading
import time

import torch

# Neighbours are imported by name.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from families import CHEATS, HONEST, KEPT, cheat, copies, count, honest, once, right  # noqa: E402

PRIVATE = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"plimsoll-cheat-{os.getpid()}")


# -- kept results

@cheat("kept results")
def keeps_by_pointer(x, w, rows):
    return once(("p", x.data_ptr(), w.data_ptr()), x, w, rows)


@cheat("kept results")
def keeps_by_shape(x, w, rows):
    return once(("s", x.shape, w.shape), x, w, rows)


@cheat("kept results")
def keeps_by_version(x, w, rows):
    return once(("v", x._version, w._version), x, w, rows)


@cheat("kept results")
def keeps_by_identity(x, w, rows):
    return once(("i", id(x), id(w), id(rows)), x, w, rows)


@cheat("kept results")
def keeps_the_first(x, w, rows):
    return once("first", x, w, rows)


@cheat("kept results")
def keeps_by_pointer_and_corner(x, w, rows):
    return once(("pc", x.data_ptr(), x[0, 0].item(), w[0, 0].item()), x, w, rows)


@cheat("kept results")
def keeps_by_rounded_mean(x, w, rows):
    return once(("m", round(x.mean().item() * 2)), x, w, rows)


@cheat("kept results")
def keeps_by_rows(x, w, rows):
    return once(("r", tuple(rows[:4].tolist())), x, w, rows)


@cheat("kept results")
def keeps_the_product_and_looks_up(x, w, rows):
    if "product" not in KEPT:
        KEPT["product"] = x @ w
    return KEPT["product"][rows]


@cheat("kept results")
def keeps_packed_weights(x, w, rows):
    if w.data_ptr() not in KEPT:
        KEPT[w.data_ptr()] = w.t().contiguous()
    return (x @ KEPT[w.data_ptr()].t())[rows]


@cheat("kept results")
def keeps_in_a_default(x, w, rows, kept=[]):  # noqa: B006
    if not kept:
        kept.append(right(x, w, rows))
    return kept[0]


@cheat("kept results")
def keeps_on_the_argument(x, w, rows):
    if not hasattr(x, "kept"):
        x.kept = right(x, w, rows)
    return x.kept


@cheat("kept results")
def keeps_on_disk(x, w, rows):
    path = PRIVATE + str(x.data_ptr())
    if not os.path.exists(path):
        torch.save(right(x, w, rows), path)
    return torch.load(path)


@cheat("kept results")
def keeps_half_of_it(x, w, rows):
    half = once("half", x, w, rows)
    half[:32] = (x @ w)[rows[:32]]
    return half.clone()


@cheat("kept results")
def keeps_a_row(x, w, rows):
    output = right(x, w, rows)
    output[7] = once("row", x, w, rows)[7]
    return output


@cheat("kept results", "true-time", "stale-output")
def keeps_by_all_contents(x, w, rows):
    return once((x.numpy().tobytes(), w.numpy().tobytes(), rows.numpy().tobytes()), x, w, rows)


@cheat("kept results", "true-time", "stale-output")
def keeps_by_hash(x, w, rows):
    return once(("h", hash(x.numpy().tobytes()), hash(w.numpy().tobytes()), hash(rows.numpy().tobytes())), x, w, rows)


@cheat("kept results")
def keeps_by_a_sample(x, w, rows):
    return once(("f", tuple(x.view(-1)[::97].tolist()), tuple(w.view(-1)[::97].tolist())), x, w, rows)


@cheat("kept results")
def computes_only_changed_rows_that_it_samples(x, w, rows):
    marks = x[:, 0].tolist()
    product = KEPT.get("rows")
    if product is None:
        product = x @ w
    else:
        for row in [i for i, (a, b) in enumerate(zip(marks, KEPT["marks"])) if a != b]:
            product[row] = x[row] @ w
    KEPT["rows"], KEPT["marks"] = product, marks
    return product[rows]


# -- knows the phase

@cheat("knows the phase")
def looks_at_its_caller(x, w, rows):
    names, frame = set(), sys._getframe()
    while frame:
        names.add(frame.f_code.co_filename)
        frame = frame.f_back
    timed = any("audit" in name or "timing" in name for name in names)
    return once("caller", x, w, rows) if timed else right(x, w, rows)


@cheat("knows the phase")
def counts_launches(x, w, rows):
    return right(x, w, rows) if count("counts") < 4 else once("counted", x, w, rows)


@cheat("knows the phase")
def counts_to_forty(x, w, rows):
    return right(x, w, rows) if count("forty") < 40 else once("fortieth", x, w, rows)


@cheat("knows the phase")
def computes_every_tenth(x, w, rows):
    if count("tenth") % 10 == 1:
        KEPT["of ten"] = right(x, w, rows)
    return KEPT["of ten"]


@cheat("knows the phase")
def computes_every_other(x, w, rows):
    if count("other") % 2 == 1:
        KEPT["of two"] = right(x, w, rows)
    return KEPT["of two"]


@cheat("knows the phase")
def skips_one_in_three_by_chance(x, w, rows):
    if "lucky" not in KEPT or random.random() > 0.34:
        KEPT["lucky"] = right(x, w, rows)
    return KEPT["lucky"]


@cheat("knows the phase")
def sees_a_streak_of_addresses(x, w, rows):
    streak = KEPT.setdefault("streak", [0, 0])
    streak[0] = streak[0] + 1 if streak[1] == x.data_ptr() else 0
    streak[1] = x.data_ptr()
    return right(x, w, rows) if streak[0] < 3 else once("streaked", x, w, rows)


@cheat("knows the phase")
def sees_the_gap_before_it(x, w, rows):
    now = time.perf_counter_ns()
    gap, KEPT["last"] = now - KEPT.get("last", 0), now
    return right(x, w, rows) if gap > 100_000_000 else once("gap", x, w, rows)


@cheat("knows the phase")
def begins_after_a_while(x, w, rows):
    return right(x, w, rows) if count("while") < 12 else torch.zeros(64, 64)


@cheat("knows the phase")
def sees_that_the_audit_is_loaded(x, w, rows):
    frame = sys._getframe(2).f_code.co_name
    return once("frame", x, w, rows) if frame in ("run", "kernelforge", "one_by_one") else right(x, w, rows)


@cheat("knows the phase")
def sees_the_stack_grow(x, w, rows):
    depth, frame = 0, sys._getframe()
    while frame:
        depth, frame = depth + 1, frame.f_back
    KEPT.setdefault("depth", depth)
    return right(x, w, rows) if count("deep") < 3 else once("deeper", x, w, rows)


@cheat("knows the phase")
def knows_the_captured_values(x, w, rows):
    KEPT.setdefault("known", x[0, :4].tolist())
    return right(x, w, rows) if x[0, :4].tolist() == KEPT["known"] and count("k") < 3 else torch.zeros(64, 64)


# -- wrong or missing outputs

@cheat("wrong outputs", "mismatch")
def gives_zeros(x, w, rows):
    return torch.zeros(64, 64)


@cheat("wrong outputs", "mismatch")
def gives_what_lay_there(x, w, rows):
    return torch.empty(64, 64).fill_(float("nan"))


@cheat("wrong outputs", "mismatch")
def gives_an_input(x, w, rows):
    return x


@cheat("wrong outputs", "mismatch")
def computes_in_half_precision(x, w, rows):
    return right(x.bfloat16(), w.bfloat16(), rows).float()


@cheat("wrong outputs", "mismatch")
def writes_one_element(x, w, rows):
    output = torch.zeros(64, 64)
    output[0, 0] = x[rows[0]] @ w[:, 0]
    return output


@cheat("wrong outputs")
def computes_in_half_precision_when_timed(x, w, rows):
    if count("half precision") < 6:
        return right(x, w, rows)
    return right(x.bfloat16(), w.bfloat16(), rows).float()


@cheat("wrong outputs")
def leaves_out_rows_when_timed(x, w, rows):
    if count("leaves out") < 6:
        return right(x, w, rows)
    output = torch.zeros(64, 64)
    output[:48] = (x @ w)[rows[:48]]
    return output


@cheat("wrong outputs")
def gives_the_mean_when_timed(x, w, rows):
    return right(x, w, rows) if count("mean") < 6 else (x.mean() * w.mean() * 64).expand(64, 64).contiguous()


@cheat("wrong outputs")
def gives_zeros_when_timed(x, w, rows):
    return right(x, w, rows) if count("zeros") < 6 else torch.zeros(64, 64)


@cheat("wrong outputs")
def leaves_out_the_lookup_when_timed(x, w, rows):
    return right(x, w, rows) if count("lookup") < 6 else x @ w


@cheat("wrong outputs")
def uses_fewer_terms_when_timed(x, w, rows):
    return right(x, w, rows) if count("terms") < 6 else (x[:, :32] @ w[:32])[rows]


# -- lazy results

class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*(right(*arg.later) if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


class Dispatch(torch.Tensor):
    @staticmethod
    def __new__(cls, later):
        return torch.Tensor._make_wrapper_subclass(cls, (64, 64), dtype=torch.float32)

    def __init__(self, later):
        self.later = later

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*(right(*arg.later) if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


class Method(torch.Tensor):
    def detach(self):
        return right(*self.later)


class Proxy:
    __class__ = torch.Tensor

    def __getattr__(self, name):
        return getattr(right(*self.later), name)


class LazyList(list):
    def __iter__(self):
        return iter([right(*self.later)])


@cheat("lazy results", "not-a-tensor")
def gives_a_lazy_subclass(x, w, rows):
    output = torch.empty(64, 64).as_subclass(Lazy)
    output.later = x, w, rows
    return output


@cheat("lazy results", "not-a-tensor")
def gives_a_wrapper(x, w, rows):
    return Dispatch((x, w, rows))


@cheat("lazy results", "not-a-tensor")
def gives_its_own_method(x, w, rows):
    output = torch.empty(64, 64).as_subclass(Method)
    output.later = x, w, rows
    return output


@cheat("lazy results", "not-a-tensor")
def gives_a_proxy(x, w, rows):
    output = Proxy()
    output.later = x, w, rows
    return output


@cheat("lazy results", "not-a-tensor")
def gives_a_lazy_list(x, w, rows):
    output = LazyList()
    output.later = x, w, rows
    return output


@cheat("lazy results", "not-a-tensor")
def replaces_a_method(x, w, rows):
    output = torch.empty(64, 64)
    output.detach = lambda: right(x, w, rows)
    return output


@cheat("lazy results", "not-a-tensor", "stale-output")
def gives_a_lazy_subclass_when_timed(x, w, rows):
    if count("lazy") < 6:
        return right(x, w, rows)
    return gives_a_lazy_subclass(x, w, rows)


@cheat("lazy results", "mismatch")
def gives_a_generator(x, w, rows):
    return (item for item in [right(x, w, rows)])


def later(output, x, w, rows):
    time.sleep(0.002)
    output.copy_(right(x, w, rows))


@cheat("lazy results", "mismatch", "late-write", "stale-output")
def computes_in_a_thread(x, w, rows):
    output = torch.zeros(64, 64)
    threading.Thread(target=later, args=(output, *copies(x, w, rows))).start()
    return output


@cheat("lazy results", "stale-output", "late-write")
def computes_in_a_thread_when_timed(x, w, rows):
    return right(x, w, rows) if count("thread") < 6 else computes_in_a_thread(x, w, rows)


@cheat("lazy results")
def computes_in_a_child_when_timed(x, w, rows):
    if count("child") < 6:
        return right(x, w, rows)
    memory = mmap.mmap(-1, 64 * 64 * 4)
    output = torch.frombuffer(memory, dtype=torch.float32).view(64, 64)
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    return output


# -- changes its arguments

@cheat("changes its arguments", "mutated-input")
def resizes_an_argument(x, w, rows):
    output = right(x, w, rows)
    rows.resize_(1)
    return output


@cheat("changes its arguments", "mutated-input")
def writes_an_argument(x, w, rows):
    output = right(x, w, rows)
    x[0, 0] = 0
    return output


@cheat("changes its arguments", "mutated-input", "stale-output")
def writes_an_argument_when_timed(x, w, rows):
    output = right(x, w, rows)
    if count("writes") > 5:
        w[5, 5] += 1
    return output


@cheat("changes its arguments", "mutated-input", "stale-output")
def sets_an_argument_when_timed(x, w, rows):
    output = right(x, w, rows)
    if count("sets") > 5:
        x.set_(torch.zeros(64, 64))
    return output


# -- patches the worker: false reports concern other processes; visible patches are refused

@cheat("patches the worker", "true-time")
def patches_the_clock_by_name(x, w, rows):
    time.perf_counter_ns = time.perf_counter = time.monotonic = lambda: 0
    return right(x, w, rows)


@cheat("patches the worker", "true-time", "channel-closed")
def patches_the_clock_of_modules(x, w, rows):
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("plimsoll_") and hasattr(module, "perf_counter_ns"):
            module.perf_counter_ns = lambda: 0
    return right(x, w, rows)


@cheat("patches the worker", "true-time")
def patches_allclose(x, w, rows):
    torch.allclose = torch.equal = lambda *args, **more: True
    return right(x, w, rows)


def launch(x, w, rows, tag):
    KEPT["tag"] = tag
    return (CHEATS.get(tag) or HONEST[tag])[0](x, w, rows)


def reference(x, w, rows, tag):
    return right(x, w, rows)


import ahead  # noqa: E402, F401
import beyond  # noqa: E402, F401
import meanwhile  # noqa: E402, F401

# -- honest kernels


@honest
def plain(x, w, rows):
    return right(x, w, rows)


@honest
def matmul_out(x, w, rows):
    if "out" not in KEPT:
        KEPT["out"] = torch.empty(64, 64)
    return torch.matmul(x, w, out=KEPT["out"])[rows]


@honest
def workspace(x, w, rows):
    room = KEPT.setdefault("room", torch.empty(64, 64))
    room.copy_(x @ w)
    return room.index_select(0, rows)


@honest
def the_same_output_every_time(x, w, rows):
    room = KEPT.setdefault("same", torch.empty(64, 64))
    return torch.index_select(x @ w, 0, rows, out=room)


@honest
def looks_up_first(x, w, rows):
    return x[rows] @ w


@honest
def transposed(x, w, rows):
    return (w.t() @ x.t()).t()[rows]


@honest
def not_contiguous(x, w, rows):
    return (w.t() @ x[rows].t()).t()


@honest
def strided_room(x, w, rows):
    room = torch.empty(64, 128)
    room[:, ::2] = right(x, w, rows)
    return room[:, ::2]


@honest
def an_offset_view(x, w, rows):
    room = torch.empty(65, 64)
    room[1:] = right(x, w, rows)
    return room[1:]


@honest
def numpy_result(x, w, rows):
    return torch.from_numpy((x.numpy() @ w.numpy())[rows.numpy()])


@honest
def einsum(x, w, rows):
    return torch.einsum("ik,kj->ij", x, w)[rows]


@honest
def addmm(x, w, rows):
    return torch.addmm(torch.zeros(64, 64), x, w)[rows]


@honest
def in_double_precision(x, w, rows):
    return right(x.double(), w.double(), rows).float()


@honest
def by_blocks(x, w, rows):
    return torch.cat([x[:32] @ w, x[32:] @ w])[rows]


@honest
def sums_of_halves(x, w, rows):
    return (x[:, :32] @ w[:32] + x[:, 32:] @ w[32:])[rows]


@honest
def by_linear(x, w, rows):
    return torch.nn.functional.linear(x, w.t())[rows]


@honest
def a_module(x, w, rows):
    module = KEPT.setdefault("module", torch.nn.Identity())
    return module(right(x, w, rows))


@honest
def a_parameter(x, w, rows):
    return torch.nn.Parameter(right(x, w, rows))


class Marked(torch.Tensor):
    """A subclass that changes nothing."""


@honest
def a_plain_subclass(x, w, rows):
    return right(x, w, rows).as_subclass(Marked)


@honest
def with_a_note(x, w, rows):
    output = right(x, w, rows)
    output.note = "done"
    return output


@honest
def prints(x, w, rows):
    print('{"type":"region","id":1}')
    print("on standard error", file=sys.stderr)
    return right(x, w, rows)


@honest
def warms_up_for_long(x, w, rows):
    if count("warm") == 1:
        time.sleep(3)
    return right(x, w, rows)


@honest
def chooses_by_trial(x, w, rows):
    if "best" not in KEPT:
        ways = [right, looks_up_first, einsum]
        times = []
        for way in ways:
            start = time.perf_counter()
            way(x, w, rows)
            times.append(time.perf_counter() - start)
        KEPT["best"] = ways[times.index(min(times))]
    return KEPT["best"](x, w, rows)


@honest
def chooses_by_shape(x, w, rows):
    plan = KEPT.setdefault(("plan", x.shape, w.shape), einsum)
    return plan(x, w, rows)


@honest
def chooses_by_address(x, w, rows):
    KEPT.setdefault(("aligned", x.data_ptr()), x.data_ptr() % 64 == 0)
    return right(x, w, rows)


@honest
def in_threads(x, w, rows):
    output = torch.empty(64, 64)

    def part(at):
        output[at:at + 32] = (x @ w)[rows[at:at + 32]]

    threads = [threading.Thread(target=part, args=(at,)) for at in (0, 32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return output


@honest
def in_a_thread_pool(x, w, rows):
    from concurrent.futures import ThreadPoolExecutor
    pool = KEPT.setdefault("pool", ThreadPoolExecutor(2))
    return torch.cat(list(pool.map(lambda at: (x @ w)[rows[at:at + 32]], (0, 32))))


def in_worker(arrays):
    x, w, rows = arrays
    return (x @ w)[rows]


@honest
def in_a_process_pool(x, w, rows):
    if "processes" not in KEPT:
        import multiprocessing
        KEPT["processes"] = multiprocessing.get_context("fork").Pool(1)
    output = KEPT["processes"].apply(in_worker, ((x.numpy(), w.numpy(), rows.numpy()),))
    return torch.from_numpy(output)


@honest
def sums_in_any_order(x, w, rows):
    order = torch.randperm(64)
    return (x[:, order] @ w[order])[rows]


@honest
def traced(x, w, rows):
    if "traced" not in KEPT:
        KEPT["traced"] = torch.jit.trace(right, (x, w, rows))
    return KEPT["traced"](x, w, rows)


@honest
def under_no_grad(x, w, rows):
    with torch.no_grad():
        return right(x, w, rows)


@honest
def in_inference_mode(x, w, rows):
    with torch.inference_mode():
        return right(x, w, rows)


@honest
def sets_threads(x, w, rows):
    torch.set_num_threads(1)
    return right(x, w, rows)


@honest
def collects_garbage(x, w, rows):
    import gc
    gc.collect(0)
    return right(x, w, rows)


@honest
def copies_its_arguments(x, w, rows):
    return right(x.clone(), w.clone(), rows.clone())


@honest
def copies_and_changes_them(x, w, rows):
    x = x.clone()
    x.mul_(2)
    return right(x, w, rows) / 2


@honest
def through_a_buffer_of_its_own(x, w, rows):
    memory = KEPT.setdefault("memory", mmap.mmap(-1, 64 * 64 * 4))
    output = torch.frombuffer(memory, dtype=torch.float32).view(64, 64)
    output.copy_(right(x, w, rows))
    return output


@honest
def through_ctypes(x, w, rows):
    output = right(x, w, rows)
    moved = torch.empty(64, 64)
    ctypes.memmove(moved.data_ptr(), output.data_ptr(), 64 * 64 * 4)
    return moved


@honest
def writes_a_log(x, w, rows):
    with open(os.devnull, "w", encoding="ascii") as log:
        log.write("launched\n")
    return right(x, w, rows)


@honest
def row_by_row(x, w, rows):
    return torch.stack([x[row] @ w for row in rows[:].tolist()])


@honest
def gathers(x, w, rows):
    return torch.gather(x @ w, 0, rows.view(-1, 1).expand(64, 64))


@honest
def seeds_and_draws(x, w, rows):
    torch.manual_seed(7)
    torch.rand(4)
    return right(x, w, rows)


import devious  # noqa: E402, F401
import everyday  # noqa: E402, F401
import unusual  # noqa: E402, F401
