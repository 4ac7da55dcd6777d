"""The expected content of a file of torch.save, taken from the objects in memory: every tensor and every plain value by
path.

Paths are those of `plimsoll inspect`: `$["key"]`, `[0]`, `{repr}` for other keys, `!name` for the parts of composite
tensors and of objects. A repeated object is an alias of its first path.
"""

import collections
import hashlib
import json
import struct

import torch

SPARSE = {
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def logical_bytes(tensor):
    """The logical bytes of a strided tensor: row-major, little-endian, conj and neg resolved."""
    tensor = tensor.detach().as_subclass(torch.Tensor)
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    if tensor.numel() == 0:
        return b""
    tensor = tensor.resolve_conj().resolve_neg()
    # torch cannot copy bits and float4, but it can copy them as bytes. Their elements are whole bytes.
    if tensor.dtype.itemsize == 1:
        tensor = tensor.view(torch.uint8)
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def escaped(text):
    """A key as written in a path: with JSON's escapes, other characters unchanged, lone surrogates replaced."""
    return json.dumps("".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text), ensure_ascii=False)


def step(key):
    return f"[{escaped(key)}]" if isinstance(key, str) else f"{{{key!r}}}"


class Truth:
    """A walk over values, with containers before their contents."""

    def __init__(self, root):
        self.tensors, self.values = [], []
        self.first, self.storages, self.alive = {}, {}, []
        # An explicit stack: values may be nested deeper than Python recurses.
        stack = [("$", root)]
        while stack:
            path, value = stack.pop()
            stack.extend(reversed(self.visit(path, value)))

    def document(self):
        return {"tensors": self.tensors, "values": self.values}

    def visit(self, path, value):
        """Records one value; returns its contents."""
        self.alive.append(value)
        known = [torch.Tensor, list, dict, set, frozenset, collections.deque]
        if isinstance(value, tuple(known)) or (isinstance(value, tuple) and value != () and type(value) is not torch.Size):
            alias = self.first.setdefault(id(value), path)
            if alias != path:
                self.values.append({"path": path, "alias_of": alias})
                return []
        if isinstance(value, torch.Tensor):
            return self.tensor(path, value)
        if isinstance(value, dict):
            below = [(path + step(key), item) for key, item in value.items()]
            attributes = getattr(value, "__dict__", None)
            return below + ([(path + "!state", attributes)] if attributes else [])
        if isinstance(value, tuple) and hasattr(value, "_fields") and type(value).__module__ == "__main__":
            # An object of a class unknown to every reader, made from its items.
            return [(f"{path}!args[{i}]", item) for i, item in enumerate(value)]
        if isinstance(value, (list, tuple, set, frozenset)):
            return [(f"{path}[{i}]", item) for i, item in enumerate(value)]
        if isinstance(value, torch.nn.Module) or type(value).__module__ in ("__main__", "vendor.models"):
            return [(path + "!state", value.__dict__)] if value.__dict__ else []
        self.plain(path, value)
        return []

    def plain(self, path, value):
        kinds = {bool: str, int: str, float: lambda value: struct.pack(">d", value).hex(), str: ascii_of, bytes: bytes.hex, type(None): str}
        kinds[torch.dtype] = kinds[torch.device] = str
        if type(value) in kinds:
            self.values.append({"path": path, "type": type(value).__name__, "value": kinds[type(value)](value)})

    def tensor(self, path, tensor):
        kind, parts = self.parts(path, tensor)
        facts = {"path": path, "kind": kind, "requires_grad": tensor.requires_grad}
        if kind != "foreign":
            facts["dtype"] = str(tensor.dtype).removeprefix("torch.")
        if kind not in ("foreign", "nested"):
            facts["shape"] = list(tensor.shape)
        if kind in ("strided", "quantized", "meta", "wrapper"):
            facts["strides"] = list(tensor.stride())
        if kind in ("strided", "quantized"):
            # Nibbles and pairs of bits have no elements that can be viewed.
            packed = tensor.dtype in (torch.quint4x2, torch.quint2x4)
            storage = tensor.untyped_storage()
            facts |= {
                "storage_offset": tensor.storage_offset(),
                "conj": tensor.is_conj(),
                "neg": tensor.is_neg(),
                "storage": None if packed else self.storages.setdefault(storage._cdata, len(self.storages)),
                "sha256": None if packed else hashlib.sha256(logical_bytes(tensor)).hexdigest(),
            }
        self.tensors.append(facts)
        if kind == "foreign":
            return parts
        state = tensor.__getstate__()
        # A plain tensor or parameter without attributes is saved without a state, any other subclass with one.
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
        return parts + ([(path + "!state", state)] if state or not plain else [])

    def parts(self, path, tensor):
        """The kind of a tensor, and the tensors that it consists of."""
        named = lambda parts: [(f"{path}!{name}", part) for name, part in parts.items()]
        if tensor.device.type == "meta":
            return "meta", []
        if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            if tensor.is_nested:
                # torch's nested tensor of the jagged layout is rebuilt from a dict.
                parts = {'args[0]["values"]': tensor._values, 'args[0]["offsets"]': tensor._offsets}
                return "foreign", named(parts)
            return "wrapper", []
        if tensor.is_quantized:
            if tensor.qscheme() == torch.per_tensor_affine:
                return "quantized", []
            parts = {"scales": tensor.q_per_channel_scales(), "zero_points": tensor.q_per_channel_zero_points()}
            return "quantized", named(parts)
        if tensor.layout == torch.sparse_coo:
            return "sparse", named({"indices": tensor._indices(), "values": tensor._values()})
        if tensor.layout in SPARSE:
            return "sparse", named({name: getattr(tensor, name)() for name in SPARSE[tensor.layout]})
        if tensor.is_nested:
            parts = {
                "buffer": tensor.values(),
                "sizes": tensor._nested_tensor_size(),
                "strides": tensor._nested_tensor_strides(),
                "offsets": tensor._nested_tensor_storage_offsets(),
            }
            return "nested", named(parts)
        return "strided", []


def ascii_of(text):
    return text.encode("utf-8", "replace").decode() if not any(0xD800 <= ord(c) < 0xE000 for c in text) else None
