"""Kernels of one operator each, as exact as their dtype allows or less, each with the end that a reference in float64 and
that the fixed tolerances of `torch` give it.

An entry is for the kernel that the size of its first argument names: an operator takes no name of a kernel.

usage: precision.py DIR      writes a capture for each operator to the folder of its name, and prints the
                             [NAME, END BY float64, END BY torch] of its entries, as JSON
"""

import os
import sys

import torch
from torch.nn import functional

KERNELS = {}
# The size of the first argument of the first kernel.
FIRST = 20
PASSES, FAILS = "passed", "mismatch"


def kernel(function, args, by_float64, by_torch):
    """`args` makes the arguments of the captured call from the size of the first and a generator."""

    def add(launch):
        size = FIRST + len(KERNELS)
        KERNELS[launch.__name__] = (launch, function, args(size, torch.Generator().manual_seed(size)), by_float64, by_torch)
        return launch

    return add


def launch(*args):
    return list(KERNELS.values())[args[0].shape[0] - FIRST][0](*args)


def numbers(*shapes, dtype=torch.float32, more=()):
    """Normal numbers, the first tensor with the size of the kernel."""
    def args(size, chance):
        tensors = [torch.randn(shape, generator=chance) for shape in [(size, *shapes[0]), *shapes[1:]]]
        return [tensor.to(dtype) for tensor in tensors] + list(more)

    return args


def rounded(tensor, bits):
    """A tensor of float32 with so many bits of its mantissas."""
    low = (1 << 23 - bits) - 1
    return ((tensor.view(torch.int32) + (low >> 1)) & ~low).view(torch.float32)


LONG = numbers((4096,), (16, 4096))
LONG_16 = numbers((4096,), (16, 4096), dtype=torch.bfloat16)
HALF = numbers((256,), (16, 256), dtype=torch.float16)
DOUBLE = numbers((512,), (16, 512), dtype=torch.float64)
VOCABULARY = numbers((20_000,), more=[-1])


def sharp(size, chance):
    """Logits that are far apart, in bfloat16."""
    return [(5 * torch.randn((size, 2000), generator=chance)).bfloat16(), -1]


def attention(size, chance):
    """Queries, keys and values of as many heads as the size says."""
    return [torch.randn((size, 64, 32), generator=chance).bfloat16() for _ in range(3)]


# -- sums

@kernel("linear", LONG, PASSES, FAILS)
def adds_one_product_after_the_other(x, w):
    out = torch.zeros(x.shape[0], w.shape[0])
    for k in range(x.shape[1]):
        out += x[:, k:k + 1] * w[:, k]
    return out


@kernel("linear", LONG, PASSES, FAILS)
def adds_in_doubles(x, w):
    return (x.double() @ w.double().t()).float()


@kernel("linear", LONG, FAILS, FAILS)
def multiplies_in_tensorfloat32(x, w):
    return rounded(x, 10) @ rounded(w, 10).t()


@kernel("linear", LONG, FAILS, FAILS)
def multiplies_in_half_precision(x, w):
    return (x.half() @ w.half().t()).float()


@kernel("linear", LONG, FAILS, FAILS)
def leaves_out_a_product(x, w):
    return x[:, :-1] @ w[:, :-1].t()


@kernel("linear", LONG_16, PASSES, PASSES)
def adds_floats_of_bfloat16(x, w):
    return (x.float() @ w.float().t()).bfloat16()


@kernel("linear", LONG_16, FAILS, FAILS)
def adds_bfloat16(x, w):
    out = torch.zeros(x.shape[0], w.shape[0], dtype=torch.bfloat16)
    for k in range(0, x.shape[1], 16):
        out += x[:, k:k + 16] @ w[:, k:k + 16].t()
    return out


@kernel("linear", HALF, PASSES, PASSES)
def adds_floats_of_float16(x, w):
    return (x.float() @ w.float().t()).half()


@kernel("linear", HALF, FAILS, FAILS)
def rounds_to_eight_bits_first(x, w):
    return (x.to(torch.float8_e4m3fn).float() @ w.float().t()).half()


@kernel("linear", DOUBLE, PASSES, PASSES)
def adds_doubles_in_blocks(x, w):
    return sum(x[:, k:k + 64] @ w[:, k:k + 64].t() for k in range(0, 512, 64))


@kernel("linear", DOUBLE, FAILS, FAILS)
def adds_floats_of_doubles(x, w):
    return (x.float() @ w.float().t()).double()


# -- small numbers

@kernel("softmax", VOCABULARY, PASSES, PASSES)
def subtracts_no_largest(x, dim):
    e = x.exp()
    return e / e.sum(dim, keepdim=True)


@kernel("softmax", VOCABULARY, FAILS, PASSES)
def writes_only_what_is_large(x, dim):
    right = x.softmax(dim)
    return torch.where(right > 1e-5, right, torch.zeros_like(right))


@kernel("softmax", VOCABULARY, FAILS, PASSES)
def divides_in_bfloat16(x, dim):
    return x.softmax(dim).bfloat16().float()


@kernel("softmax", sharp, PASSES, PASSES)
def divides_floats_of_bfloat16(x, dim):
    e = (x.float() - x.float().amax(dim, keepdim=True)).exp()
    return (e / e.sum(dim, keepdim=True)).bfloat16()


@kernel("softmax", sharp, FAILS, PASSES)
def subtracts_in_bfloat16(x, dim):
    e = (x - x.amax(dim, keepdim=True)).float().exp()
    return (e / e.sum(dim, keepdim=True)).bfloat16()


# -- several roundings

@kernel("scaled_dot_product_attention", attention, PASSES, FAILS)
def rounds_weights_to_bfloat16(q, k, v):
    weights = torch.softmax((q.float() @ k.float().transpose(1, 2)) / 32**0.5, -1)
    return (weights.bfloat16().float() @ v.float()).bfloat16()


@kernel("scaled_dot_product_attention", attention, PASSES, FAILS)
def rounds_scores_and_weights_to_bfloat16(q, k, v):
    return torch.softmax((q @ k.transpose(1, 2)) / 32**0.5, -1) @ v


@kernel("scaled_dot_product_attention", attention, FAILS, FAILS)
def rounds_weights_to_eight_bits(q, k, v):
    weights = torch.softmax((q.float() @ k.float().transpose(1, 2)) / 32**0.5, -1)
    return (weights.to(torch.float8_e4m3fn).float() @ v.float()).bfloat16()


# -- outputs of other forms

@kernel("topk", numbers((50,), more=[4]), PASSES, PASSES)
def sorts_all(x, k):
    values, indices = x.sort(-1, descending=True)
    return values[..., :k], indices[..., :k]


@kernel("relu", numbers((50,), more=[True]), PASSES, PASSES)
def is_not_in_place(x, inplace):
    return x.clamp(min=0)


@kernel("embedding", lambda size, chance: [torch.randint(0, 9, (size,), generator=chance), torch.randn((9, 4), generator=chance)],
        PASSES, PASSES)
def takes_rows(rows, weight):
    return weight[rows]


@kernel("dropout", numbers((50,)), "error", FAILS)
def drops_others(x):
    return functional.dropout(x)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cheats"))
    import by_operator

    by_operator.write(sys.argv[1], ((name, *rest) for name, (_, *rest) in KERNELS.items()))
