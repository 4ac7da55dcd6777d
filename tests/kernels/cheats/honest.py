"""Honest embeddings that resemble a cheat, or are built late."""

import collections

import torch

Named = collections.namedtuple("Named", "rows")
KEPT = {}
SOURCE = "torch::Tensor rows(torch::Tensor i, torch::Tensor w) { return torch::embedding(w, i); }"


class Embedding(torch.nn.Module):
    def forward(self, indices, weight):
        return torch.nn.functional.embedding(indices, weight)


class Marked(torch.Tensor):
    """A subclass that changes nothing."""


def module(*args):
    return Embedding()(args[0], args[1])


def parameter(*args):
    return torch.nn.Parameter(module(*args))


def subclass(*args):
    return module(*args).as_subclass(Marked)


def annotated(*args):
    output = module(*args)
    output.note = "rows"
    return output


def numpy(*args):
    bits = args[1].view(torch.int16).numpy()[args[0].numpy()]
    return torch.from_numpy(bits).view(torch.bfloat16)


def strided(*args):
    output = module(*args)
    return output.transpose(0, -1).contiguous().transpose(0, -1)


def default_device(*args):
    torch.set_default_device("cpu")
    return module(*args)


def workspace(*args):
    if "room" not in KEPT:
        KEPT["room"] = torch.empty((*args[0].shape, args[1].shape[1]), dtype=args[1].dtype)
    return torch.index_select(args[1], 0, args[0].flatten(), out=KEPT["room"].view(-1, args[1].shape[1])).view_as(KEPT["room"])


def builds_lazily(*args):
    if "built" not in KEPT:
        from torch.utils.cpp_extension import load_inline
        KEPT["built"] = load_inline("plimsoll_rows", SOURCE, functions=["rows"])
    return KEPT["built"].rows(args[0], args[1])
