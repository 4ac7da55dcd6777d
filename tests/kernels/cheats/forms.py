"""Honest kernels whose arguments and outputs have other forms than those of suite.py: none may be accused. Each is an operator of its
own, with arguments that its maker gives.

usage: forms.py DIR    writes a capture with an entry for each kernel, and prints the allowed ends of each, as JSON
"""

import gc
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time

import numpy as np
import torch
from torch.nn import functional

FORMS, KEPT = {}, {}


def form(*make):
    """An operator with these arguments, drawn or made when its entry is written."""
    def add(kernel):
        FORMS[kernel.__name__] = (make, kernel, kernel)
        return kernel
    return add


def product(kernel):
    """Another way to compute a product."""
    FORMS[kernel.__name__] = ((drawn(32, 16), drawn(16, 8)), lambda a, b, c: a @ b, kernel)
    return kernel


def drawn(*shape, **more):
    return lambda: torch.randn(*shape, **more)


def whole(low, high, *shape, **more):
    return lambda: torch.randint(low, high, shape, **more)


# -- how much there is

@form(lambda: torch.empty(0, 8), drawn(8, 4))
def no_rows(a, b, c):
    return a @ b


@form(lambda: torch.empty(0, 8))
def nothing_at_all(a, b, c):
    return a * 2


@form(drawn(16, 8), lambda: torch.empty(0))
def an_argument_without_elements(a, b, c):
    return torch.cat([a.flatten(), b])


@form(drawn(1))
def one_element(a, b, c):
    return a.exp()


@form(lambda: torch.tensor(3.0), drawn(8, 8))
def a_scalar_argument(a, b, c):
    return a * b


# -- of what it is

@form(drawn(32, 16), drawn(16, 8))
def truth_values(a, b, c):
    return (a @ b) > 0


@form(whole(0, 100, 32, 8), whole(0, 100, 32, 8))
def whole_numbers(a, b, c):
    return a * b


@form(whole(-100, 100, 32, 8, dtype=torch.int8), whole(0, 3, 8, dtype=torch.int8))
def numbers_of_8_bits(a, b, c):
    return a + b


@form(whole(0, 255, 64, dtype=torch.uint8))
def a_histogram(a, b, c):
    return torch.bincount(a.long(), minlength=256)


@form(whole(0, 50, 64))
def a_sum_of_whole_numbers(a, b, c):
    return a.sum()


@form(whole(0, 100, 32))
def the_largest_whole_number(a, b, c):
    return a.max()


@form(whole(0, 4, 64))
def the_largest_of_many_that_are_alike(a, b, c):
    return a.max()


@form(lambda: torch.randint(0, 2, (64,)))
def whether_any_is_there(a, b, c):
    return a.any()


@form(whole(0, 2, 16384, 2))
def whether_any_is_there_of_many(a, b, c):
    return a.any(1)


@form(lambda: torch.rand(96, 1024) < 0.5, lambda: torch.rand(96, 1024) < 0.5)
def many_truth_values(a, b, c):
    return a & b


@form(whole(0, 1 << 40, 128, 128))
def bits_of_many_whole_numbers(a, b, c):
    return a & 0xff00ff


@form(whole(0, 5, 64))
def sorted_whole_numbers(a, b, c):
    return torch.sort(a).values


@form(lambda: torch.arange(64) % 3 == 0)
def a_count_of_truth_values(a, b, c):
    return a.sum()


@form(drawn(16, 16, dtype=torch.complex64))
def complex_numbers(a, b, c):
    return a @ a


@form(drawn(32, 8, dtype=torch.complex64))
def conjugated(a, b, c):
    return a.conj()


@form(drawn(64))
def a_spectrum(a, b, c):
    return torch.fft.rfft(a)


@form(drawn(32, 8, dtype=torch.bfloat16), drawn(8, 16, dtype=torch.bfloat16))
def half_precision(a, b, c):
    return a @ b


@form(drawn(64, 64, dtype=torch.float64))
def double_precision(a, b, c):
    return a @ a


@form(lambda: torch.triu(torch.full((16, 16), float("-inf")), 1), drawn(16, 16))
def with_an_additive_mask(a, b, c):
    return torch.softmax(b + a, 1)


@form(lambda: torch.ones(16, 16).tril().bool(), drawn(16, 16))
def with_a_mask(a, b, c):
    return torch.softmax(b.masked_fill(~a, float("-inf")), 1)


@form(lambda: torch.tensor([0, 3, 7, 12]), drawn(12, 8))
def by_offsets(a, b, c):
    return torch.stack([b[start:end].sum(0) for start, end in zip(a.tolist(), a.tolist()[1:])])


@form(lambda: torch.randperm(32), drawn(32, 8))
def by_a_permutation(a, b, c):
    return torch.empty_like(b).index_copy_(0, a, b)


@form(whole(0, 8, 64), drawn(64, 4))
def added_up_by_index(a, b, c):
    return torch.zeros(8, 4).index_add_(0, a, b)


@form(drawn(24, 16, 16))
def many_outputs(a, b, c):
    return tuple(part.clone() for part in a.unbind())


# -- what it is in

@form(drawn(32, 16), drawn(16, 8))
def a_dict(a, b, c):
    return {"product": a @ b, "sum": a.sum(0)}


@form(drawn(32, 16), drawn(16, 8))
def nested(a, b, c):
    return a @ b, [a.sum(), {"mean": b.mean(0)}]


@form(drawn(32, 16), drawn(16, 8))
def none_in_a_tuple(a, b, c):
    return a @ b, None, a.max(1).values


@form(drawn(32, 16), drawn(16, 8))
def a_number_in_a_tuple(a, b, c):
    return a @ b, 3


@form(drawn(8, 8))
def a_number_alone(a, b, c):
    return float(a[0, 0]) * 2


@form(drawn(32, 16))
def a_scalar(a, b, c):
    return a.mean()


@form(drawn(32, 8))
def a_named_tuple(a, b, c):
    return torch.sort(a, dim=1)


@form(lambda: [torch.randn(4, 4), torch.randn(4, 4)], drawn(4, 4))
def a_list_of_arguments(a, b, c):
    return torch.stack(a) @ b


@form(lambda: 2.5, drawn(8, 8), lambda: 3)
def numbers_as_arguments(a, b, c):
    return b * a + c


# -- whose memory it is

@form(drawn(32, 8))
def its_argument(a, b, c):
    return a


@form(drawn(32, 8))
def a_view_of_its_argument(a, b, c):
    return a.t()[1:, ::2]


@form(drawn(32, 8))
def the_same_twice(a, b, c):
    output = a * 2
    return output, output


@form(drawn(32, 8))
def parts_of_one_output(a, b, c):
    output = a * 2
    return output[:16], output[16:]


@form(drawn(32, 8))
def expanded(a, b, c):
    return a.sum(1, keepdim=True).expand(32, 8)


@form(lambda: torch.randn(8, 8)[:, ::2], lambda: torch.randn(16, 4).t())
def strided_arguments(a, b, c):
    return a @ b


# -- operators

@form(drawn(32, 64), drawn(64), drawn(64))
def layer_norm(a, b, c):
    return functional.layer_norm(a, (64,), b, c)


@form(drawn(4, 3, 8, 8), drawn(5, 3, 3, 3))
def a_convolution(a, b, c):
    return functional.conv2d(a, b)


@form(drawn(2, 4, 16, 8), drawn(2, 4, 16, 8), drawn(2, 4, 16, 8))
def attention(a, b, c):
    return functional.scaled_dot_product_attention(a, b, c)


@form(drawn(32), lambda: torch.randint(0, 2, (32,)).float())
def a_loss(a, b, c):
    return functional.binary_cross_entropy_with_logits(a, b)


@form(lambda: torch.rand(32) + 1)
def not_a_number_for_some(a, b, c):
    return torch.acosh(a)


@form(lambda: (lambda drawn: drawn @ drawn.t() + 6 * torch.eye(6))(torch.randn(6, 6)))
def of_a_positive_definite_matrix(a, b, c):
    return torch.linalg.cholesky(a)


@form(drawn(8, 8))
def a_decomposition(a, b, c):
    return torch.linalg.cholesky(a @ a.t() + 8 * torch.eye(8))


# -- how it works

@product
def changes_the_number_of_threads(a, b, c):
    torch.set_num_threads(1 + KEPT.setdefault("threads", 0) % 2)
    KEPT["threads"] += 1
    return a @ b


@product
def by_new_threads(a, b, c):
    output = torch.empty(32, 8)

    def part(at):
        output[at:at + 8] = a[at:at + 8] @ b
    threads = [threading.Thread(target=part, args=(at,)) for at in range(0, 32, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return output


@product
def through_a_mapped_file(a, b, c):
    if "mapped" not in KEPT:
        KEPT["file"] = tempfile.NamedTemporaryFile()
        KEPT["mapped"] = np.memmap(KEPT["file"].name, np.float32, "w+", shape=(32, 8))
    KEPT["mapped"][:] = a.numpy() @ b.numpy()
    return torch.from_numpy(KEPT["mapped"])


@product
def prints_a_lot(a, b, c):
    for line in range(200):
        print("line", line, "x" * 100)
    return a @ b


@product
def collects_all_garbage(a, b, c):
    output = a @ b
    gc.collect()
    return output


def multiplied(pair):
    return pair[0] @ pair[1]


# -- outputs with wide gaps

@form(drawn(1024, 16), drawn(1024, 16))
def the_diagonal_of_a_product(a, b, c):
    return (a @ b.t()).diagonal()


@form(lambda: torch.rand(300, 200) > 0.5)
def finds_places_by_numpy(a, b, c):
    """The elements of its output lie in another order."""
    return torch.from_numpy(np.argwhere(a.numpy()))


@form(drawn(64, 1000))
def the_largest_of_sorted_rows(a, b, c):
    values, places = a.sort(1, descending=True)
    return values[:, :5], places[:, :5]


@form(drawn(64, 128, 96))
def the_first_of_each_sequence(a, b, c):
    return (a * 2)[:, 0]


FORMS["a_column_of_a_workspace"] = ((drawn(1024),), lambda a, b, c: a.relu(), lambda a, b, c: torch.clamp_min(
    a, 0, out=KEPT.setdefault("workspace", torch.zeros(1024, 1024))[:, 3]))


# -- outputs that follow where zeros are, or are one value

def active(*shape):
    return lambda: torch.randn(*shape).relu()


@form(active(32, 32))
def what_is_active(a, b, c):
    return a > 0


@form(active(32, 32))
def how_many_are_active(a, b, c):
    return a.count_nonzero(1)


@form(active(300, 300))
def how_many_of_many_are_active(a, b, c):
    return a.count_nonzero(1)


@form(lambda: torch.rand(16, 16) > 0.4, drawn(16, 16))
def how_many_are_set_beside_numbers(a, b, c):
    return a.sum(1) + b.shape[0]


@form(lambda: torch.rand(64, 64) * 1000)
def one_mean_for_all(a, b, c):
    return a.mean().expand(8, 8)


@product
def by_a_pool_of_processes(a, b, c):
    if "pool" not in KEPT:
        KEPT["pool"] = multiprocessing.get_context("fork").Pool(2)
    parts = [(a[at:at + 16].numpy(), b.numpy()) for at in (0, 16)]
    return torch.from_numpy(np.concatenate(KEPT["pool"].map(multiplied, parts)))


@product
def with_gradients(a, b, c):
    with torch.enable_grad():
        tracked = a.clone().requires_grad_()
        output = tracked @ b
        output.sum().backward()
    return output


@product
def takes_different_times(a, b, c):
    time.sleep(KEPT.setdefault("times", 0) * 7 % 5 * 0.001)
    KEPT["times"] += 1
    return a @ b


@product
def by_recursion(a, b, c):
    def deeper(left):
        return deeper(left - 1) if left else a @ b
    return deeper(400)


def launch(a, b, c, tag):
    return FORMS[tag][2](a, b, c)


def reference(a, b, c, tag):
    return FORMS[tag][1](a, b, c)


if __name__ == "__main__":
    os.makedirs(sys.argv[1])
    torch.manual_seed(0)
    for index, (name, (make, operator, _)) in enumerate(FORMS.items()):
        a, b, c = (maker() for maker in (*make, *(lambda: None,) * (3 - len(make))))
        entry = {"function_name": "forms", "args": [], "kwargs": {"a": a, "b": b, "c": c, "tag": name},
                 "output": operator(a, b, c), "signature": {"params": ["a", "b", "c", "tag"], "defaults": {}}}
        torch.save(entry, os.path.join(sys.argv[1], f"entry_{index:06d}.pt"))
    print(json.dumps([[name, "honest", ["blind"] if name == "one_mean_for_all" else []] for name in FORMS]))
