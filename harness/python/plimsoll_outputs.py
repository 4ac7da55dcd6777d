"""The outputs that a kernel of Plimsoll's Python worker may return: plain tensors and values in plain lists, tuples and
dicts.

Outputs are read after the clock has stopped. A class that computes when it is read would get that time for free, and
`isinstance` trusts what such an object claims. So an object is asked for its type and a tensor for its memory: the
memory at the launch's return is judged.
"""

import json
from collections.abc import Mapping

import torch

# What a subclass of a tensor may define: none of it computes when the tensor is read.
HARMLESS = {"__module__", "__doc__", "__dict__", "__weakref__", "__new__", "__init__", "__init_subclass__", "__slots__", "__repr__",
            "__str__", "__format__", "__hash__", "__deepcopy__", "__reduce_ex__", "__annotations__", "__annotate__", "__qualname__",
            "__static_attributes__", "__firstlineno__", "__torch_function__", "__setstate__"}
OWN_CLASSES = (torch.nn.Parameter, torch.nn.Buffer) if hasattr(torch.nn, "Buffer") else (torch.nn.Parameter,)
NAMES = frozenset(dir(torch.Tensor))
DEVICES = ("cpu", "cuda")
# Saved before any kernel is loaded, because a kernel may replace them.
DISPATCH = torch.Tensor.__torch_dispatch__
FUNCTIONS = (torch.Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl)
MISSING = object()
# The tensors of C, whose methods cannot be replaced, unlike those of torch.Tensor; and functions that could be.
BASE = torch._C.TensorBase
ARANGE, EMPTY, FROM_BUFFER = torch.arange, torch.empty, torch.frombuffer
# Without the modes of torch functions that a kernel has left on.
PLAINLY = torch._C.DisableTorchFunction


class Refusal(Exception):
    """An error whose kind is known where it is detected."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def not_a_tensor(path, what, instead):
    place = f"output {path}" if path else "the output"
    return Refusal("not-a-tensor", f"{place} {what}; return {instead}")


def named(kind):
    return f"{type.__getattribute__(kind, '__module__')}.{type.__getattribute__(kind, '__qualname__')}"


def lineage(kind, mro=type.__dict__["__mro__"].__get__):
    """The classes of a type, whatever its own class claims."""
    return mro(kind)


def found(kind, name):
    """The definition of a name in a class, exactly as written."""
    for base in lineage(kind):
        attributes = type.__dict__["__dict__"].__get__(base)
        if name in attributes:
            return attributes[name]
    return MISSING


def flattened(output, path=""):
    """The leaves of an output with their paths: plain tensors over the memory that the kernel returned, and values.

    Containers are traversed by their real contents, not by what their class claims.
    """
    kind = type(output)
    bases = lineage(kind)
    for base in (tuple, list):
        if base in bases:
            if any(found(kind, name) is not found(base, name) for name in ("__iter__", "__getitem__", "__len__")):
                what = f"is an object of type {named(kind)}, which has its own way to give its items"
                raise not_a_tensor(path, what, f"a plain {base.__name__}")
            for index, item in enumerate(base.__iter__(output)):
                yield from flattened(item, f"{path}[{index}]")
            return
    if dict in bases:
        for key, item in dict.items(output):
            name = json.dumps(key, ensure_ascii=False) if type(key) is str else str(key)
            yield from flattened(item, f"{path}[{name}]")
    elif torch.Tensor in bases:
        yield path, plain(output, path)
    else:
        if isinstance(output, (torch.Tensor, list, tuple, Mapping)):
            what = f"is an object of type {named(kind)}, which says that it is another"
            raise not_a_tensor(path, what, "a tensor that is computed, or a plain tuple, list or dict")
        yield path, output


def tensors_of(output):
    """The tensors of an output."""
    if type(output) is torch.Tensor:
        return [output]
    return [leaf for _, leaf in flattened(output, "") if isinstance(leaf, torch.Tensor)]


def plain(tensor, path="", as_subclass=BASE.as_subclass, base=torch.Tensor, getattribute=object.__getattribute__,
          modes=torch._C._len_torch_dispatch_stack, disabled=PLAINLY,
          wrapped=getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", lambda tensor: False)):
    """A tensor of torch's own class over the memory of another, so that reading it computes nothing."""
    kind = type(tensor)
    own = overridden(kind)
    if own:
        what = f"is a tensor of type {named(kind)}, whose own `{own}` may compute when it is read"
        raise not_a_tensor(path, what, "a plain torch.Tensor that is computed")
    replaced = sorted(NAMES.intersection(getattribute(tensor, "__dict__")))
    if replaced:
        what = f"is a tensor whose `{replaced[0]}` is the kernel's own"
        raise not_a_tensor(path, what, "the tensor as torch made it")
    if modes():
        what = "was left under a torch dispatch mode of the kernel's, which sees every read"
        raise not_a_tensor(path, what, "after the mode has ended: use it in a `with` block")
    with disabled():
        if wrapped(tensor):
            raise not_a_tensor(path, "is a tensor of a torch.func transform", "what the transform gives")
        place = BASE.device.__get__(tensor).type
        if place not in DEVICES and place != "meta":
            raise not_a_tensor(path, f"lies on the device {place}, which may compute when it is read", "a tensor of the CPU")
        # A tensor without plain memory is refused where it is written. Another class costs a call that gives up the interpreter.
        return as_subclass(tensor, base) if kind is not base and BASE.layout.__get__(tensor) == torch.strided else tensor


def overridden(kind):
    """The name of an attribute of a torch.Tensor subclass that could compute when it is read."""
    for name, usual in (("__torch_dispatch__", (DISPATCH,)), ("__torch_function__", FUNCTIONS)):
        own = found(kind, name)
        own = getattr(own, "__func__", own)
        if not any(own is one or own is getattr(one, "__func__", one) for one in usual):
            return name
    for base in lineage(kind):
        if base is torch.Tensor:
            return None
        if base not in OWN_CLASSES:
            attributes = type.__dict__["__dict__"].__get__(base)
            changed = sorted(NAMES.intersection(attributes) - HARMLESS)
            if changed:
                return changed[0]
    return None
