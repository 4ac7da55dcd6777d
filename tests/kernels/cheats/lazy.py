"""Embeddings that compute when they are read, each in another way: their output holds no result when the launch
ends."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def right(args):
    return torch.nn.functional.embedding(args[0], args[1])


def empty(args):
    return args[1].new_zeros((*args[0].shape, args[1].shape[1]))


class Function(torch.Tensor):
    """Computes when any torch function is called on it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*(right(arg.later) if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


class Dispatch(torch.Tensor):
    """Has no memory at all, and computes when any operator is called on it."""

    @staticmethod
    def __new__(cls, args):
        like = empty(args)
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype, strides=like.stride())

    def __init__(self, args):
        self.later = args

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*(right(arg.later) if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


class Method(torch.Tensor):
    def detach(self):
        return right(self.later)


class Proxy:
    """Claims to be a tensor."""

    def __init__(self, args):
        self.later = args

    __class__ = torch.Tensor

    def __getattr__(self, name):
        return getattr(right(self.later), name)


class Lazy(tuple):
    def __iter__(self):
        return iter([right(self.later)])


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def function(*args):
    output = empty(args).as_subclass(Function)
    output.later = args
    return output


def dispatch(*args):
    return Dispatch(args)


def method(*args):
    output = empty(args).as_subclass(Method)
    output.later = args
    return output


def instance(*args):
    output = empty(args)
    output.detach = lambda: right(args)
    return output


def proxy(*args):
    return Proxy(args)


def items(*args):
    output = Lazy()
    output.later = args
    return output


def mode(*args):
    output = right(args)
    Mode().__enter__()
    return output
