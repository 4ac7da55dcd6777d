"""Honest kernels as people write them: lazy set-up, logs, warnings, seeds, workspaces, threads, results of other forms. Part of
suite.py.
"""

import contextlib
import functools
import hashlib
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from families import KEPT, count, honest, right

LOG = logging.getLogger("everyday")


@honest
def logs_and_warns(x, w, rows):
    LOG.warning("launch %d", count("logged"))
    warnings.warn("slow path", stacklevel=1)
    return right(x, w, rows)


@honest
def in_contexts(x, w, rows):
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(ValueError))
        stack.enter_context(torch.autograd.set_grad_enabled(False))
        return right(x, w, rows)


@honest
def is_set_up_by_its_first_launch(x, w, rows):
    if "plan" not in KEPT:
        time.sleep(0.3)
        KEPT["plan"] = functools.partial(torch.matmul)
    return KEPT["plan"](x, w)[rows]


@honest
def tunes_itself_for_a_while(x, w, rows):
    blocks = (16, 32, 64)
    size = blocks[count("tuned") % 3] if KEPT.get("tuned", 0) < 30 else 32
    return torch.cat([x[at:at + size] @ w for at in range(0, 64, size)])[rows]


@honest
def allocates_a_large_workspace(x, w, rows):
    room = torch.empty(4 << 20)
    room[:4096] = (x @ w).view(-1)
    return room[:4096].view(64, 64)[rows]


@honest
def packs_its_weights_for_each_launch(x, w, rows):
    packed = w.t().contiguous()
    return torch.nn.functional.linear(x, packed)[rows]


@honest
def by_numpy_in_double_precision(x, w, rows):
    result = x.numpy().astype(np.float64) @ w.numpy().astype(np.float64)
    return torch.from_numpy(result.astype(np.float32)[rows.numpy()])


@honest
def in_numpy_s_own_room(x, w, rows):
    room = KEPT.setdefault("numpy room", np.empty((64, 64), np.float32))
    np.take(x.numpy() @ w.numpy(), rows.numpy(), axis=0, out=room)
    return torch.from_numpy(room)


@honest
def a_column_major_result(x, w, rows):
    return torch.from_numpy(np.asfortranarray((x.numpy() @ w.numpy())[rows.numpy()]))


@honest
def skips_repeated_rows(x, w, rows):
    distinct, places = torch.unique(rows, return_inverse=True)
    return (x[distinct] @ w)[places]


@honest
def in_a_pool_of_many_threads(x, w, rows):
    pool = KEPT.setdefault("many threads", ThreadPoolExecutor(6))
    output = torch.empty(64, 64)

    def part(at):
        output[at:at + 8] = x[rows[at:at + 8]] @ w
    list(pool.map(part, range(0, 64, 8)))
    return output


@honest
def by_a_thread_that_waits_for_work(x, w, rows):
    if "requests" not in KEPT:
        KEPT["requests"], KEPT["answers"] = threading.Semaphore(0), threading.Semaphore(0)

        def serve():
            while True:
                KEPT["requests"].acquire()
                KEPT["served"] = right(*KEPT.pop("work"))
                KEPT["answers"].release()
        threading.Thread(target=serve, daemon=True).start()
    KEPT["work"] = x, w, rows
    KEPT["requests"].release()
    KEPT["answers"].acquire()
    return KEPT.pop("served")


@honest
def many_inter_op_tasks(x, w, rows):
    futures = [torch.jit.fork(torch.matmul, x[at:at + 16], w) for at in range(0, 64, 16)]
    return torch.cat([torch.jit.wait(future) for future in futures])[rows]


@honest
def takes_milliseconds(x, w, rows):
    time.sleep(0.003)
    return right(x, w, rows)


@honest
def takes_more_and_more_and_less_time(x, w, rows):
    time.sleep(0.0005 * (count("uneven") % 5))
    return right(x, w, rows)


@honest
def writes_files_of_its_own(x, w, rows):
    with tempfile.NamedTemporaryFile() as file:
        torch.save(x @ w, file.name)
        return torch.load(file.name)[rows]


@honest
def draws_and_restores_the_seed(x, w, rows):
    with torch.random.fork_rng():
        torch.manual_seed(count("seed"))
        order = torch.randperm(64)
    return torch.empty(64, 64).index_copy_(0, order, x[order] @ w)[rows]


@honest
def retries_after_an_error_of_its_own(x, w, rows):
    try:
        torch.ops.no_such.operator(x, w)
    except (AttributeError, RuntimeError):
        return right(x, w, rows)


@honest
def has_a_handler_of_a_signal(x, w, rows):
    if "handler" not in KEPT:
        KEPT["handler"] = True
        signal.signal(signal.SIGUSR1, lambda *_: count("signalled"))
    os.kill(os.getpid(), signal.SIGUSR1)
    return right(x, w, rows)


@honest
def checks_its_arguments_first(x, w, rows):
    if not (torch.isfinite(x).all() and int(rows.max()) < 64 and x.is_contiguous()):
        raise ValueError("this kernel does not take such arguments")
    return right(x, w, rows)


@honest
def counts_what_it_sees(x, w, rows):
    digest = hashlib.sha256(x.numpy().tobytes()).hexdigest()
    KEPT.setdefault("digests", set()).add(digest)
    json.dumps(sorted(KEPT["digests"])[:4])
    return right(x, w, rows)


@honest
def remembers_its_outputs_weakly(x, w, rows):
    output = right(x, w, rows)
    KEPT.setdefault("weak", weakref.WeakSet()).add(output)
    return output


@honest
def changes_the_interval_of_threads(x, w, rows):
    sys.setswitchinterval(0.0005)
    return right(x, w, rows)


@honest
def by_a_custom_function_of_autograd(x, w, rows):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(context, x, w):
            return x @ w

        @staticmethod
        def backward(context, given):
            return given, given
    return Product.apply(x, w)[rows]


@honest
def under_deterministic_algorithms(x, w, rows):
    torch.use_deterministic_algorithms(True)
    try:
        return right(x, w, rows)
    finally:
        torch.use_deterministic_algorithms(False)


@honest
def by_vmap(x, w, rows):
    return torch.vmap(lambda row: row @ w)(x)[rows]


@honest
def in_chunks_of_a_generator(x, w, rows):
    return torch.cat(list(part @ w for part in x[rows].split(16)))


@honest
def writes_the_same_memory_again(x, w, rows):
    """All of it."""
    output = KEPT.setdefault("own output", torch.empty(64, 64))
    return torch.index_select(x @ w, 0, rows, out=output)
