"""Embeddings that change properties of their arguments other than their bytes, so that later launches have less to
do."""

import ctypes

import torch


def right(args):
    return torch.nn.functional.embedding(args[0], args[1])


def resizes(*args):
    output = right(args)
    args[0].resize_(1)
    return output


def sets(*args):
    output = right(args)
    args[0].set_(torch.zeros(1, 32, dtype=torch.int64))
    return output


def strides(*args):
    output = right(args)
    args[0].as_strided_(args[0].shape, [0] * args[0].dim())
    return output


def from_c(*args):
    """As a C++ kernel could: changes the first size of the tensor, wherever torch keeps it."""
    output = right(args)
    implementation = ctypes.cast(id(args[0]) + object.__basicsize__, ctypes.POINTER(ctypes.c_void_p))[0]
    words = ctypes.cast(implementation, ctypes.POINTER(ctypes.c_int64))
    shape = list(args[0].shape)
    for at in range(4, 40):
        if words[at:at + len(shape)] == shape:
            words[at + len(shape) - 1] = 1
            break
    return output
