"""Hooks on torch.nn.functional, like those of KernelForge's profiler."""

import contextlib
import fnmatch
import functools
import inspect
import threading
from collections import Counter

import torch
import torch.nn.functional as F

from .storages import on_the_host
from .store import NotSaved, Store

# The output of these differs at every call, so no kernel can be checked against it.
RANDOM = ("*dropout*", "rrelu*", "gumbel_softmax", "fractional_max_pool*")
# The rest of the namespace is types and helpers.
MODULES = ("torch", "torch.nn.functional", "torch._C._nn")
HELPERS = ("has_torch_function*", "handle_torch_function", "boolean_dispatch", "assert_int_or_pair")
# C functions have no signature to read. These are the documented ones.
SIGNATURES = {name: inspect.signature(function) for name, function in {
    "linear": lambda input, weight, bias=None: ...,
    "conv1d": lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: ...,
    "conv2d": lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: ...,
    "conv3d": lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: ...,
    "conv_transpose1d": lambda input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1: ...,
    "conv_transpose2d": lambda input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1: ...,
    "max_pool2d": lambda input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
                         return_indices=False: ...,
    "avg_pool2d": lambda input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                         divisor_override=None: ...,
    "adaptive_avg_pool2d": lambda input, output_size: ...,
    "adaptive_max_pool2d": lambda input, output_size, return_indices=False: ...,
}.items()}


class NoSuchOperator(ValueError):
    """Nothing would be captured."""


class Capture:
    """The results of a capture: `entries` saved and calls `skipped`, by operator, the latter with the reason."""

    def __init__(self, store, ops, skip, max_per_op, prefix):
        self.entries, self.skipped = Counter(), Counter()
        self._store, self._max_per_op, self._prefix = store, max_per_op, prefix
        self._ops, self._skip = ops, skip
        self._lock = threading.Lock()
        self._originals = {}

    @property
    def entry_bytes(self):
        """The total size of the entries as files."""
        return self._store.entry_bytes

    @property
    def added_bytes(self):
        """How much the store grew."""
        return self._store.added_bytes

    def __str__(self):
        lines = [f"{name}: {count} entries" for name, count in sorted(self.entries.items())]
        lines += [f"{name}: {count} calls left out: {why}" for (name, why), count in sorted(self.skipped.items())]
        sizes = f"{self.entry_bytes / 2**20:.2f} MiB, {self.added_bytes / 2**20:.2f} MiB added to the store"
        return "\n".join([*lines, f"{sum(self.entries.values())} entries, {sizes}"])

    def _wants(self, name):
        fits = lambda patterns: any(fnmatch.fnmatchcase(form, pattern) for pattern in patterns
                                    for form in (name, f"torch.nn.functional.{name}"))
        return (self._ops is None or fits(self._ops)) and not fits(self._skip)

    def _hook(self):
        for name, function in vars(F).items():
            known = callable(function) and not isinstance(function, type) and not name.startswith("_")
            from_torch = (getattr(function, "__module__", None) or "") in MODULES
            helper = any(fnmatch.fnmatchcase(name, pattern) for pattern in HELPERS)
            if known and from_torch and not helper and self._wants(name):
                self._originals[name] = function
        if not self._originals:
            raise NoSuchOperator(f"no function of torch.nn.functional is one of {', '.join(self._ops or ['any'])}")
        for name, function in self._originals.items():
            setattr(F, name, self._hooked(name, function))

    def _unhook(self):
        for name, function in self._originals.items():
            setattr(F, name, function)

    def _hooked(self, name, function):
        signature = SIGNATURES.get(name) or signature_of(function)

        @functools.wraps(function)
        def hooked(*args, **kwargs):
            if torch.compiler.is_compiling() or self._is_full(name):
                return function(*args, **kwargs)
            before = [(tensor, version(tensor)) for tensor in tensors((args, kwargs))]
            output = function(*args, **kwargs)
            bound = bind(signature, args, kwargs)
            with self._lock, torch.no_grad():
                if self._is_full(name):
                    pass
                elif writes(name, bound) or any(version(tensor) != seen for tensor, seen in before):
                    # Its original arguments are gone.
                    self.skipped[name, "it wrote to its arguments"] += 1
                elif draws(name, bound, args, kwargs):
                    self.skipped[name, "it drops out at random"] += 1
                else:
                    self._save(name, signature, bound, args, kwargs, output)
            return output

        return hooked

    def _is_full(self, name):
        return self._max_per_op is not None and self.entries[name] >= self._max_per_op

    def _save(self, name, signature, bound, args, kwargs, output):
        sources = {}
        host = lambda value: mapped(value, lambda tensor: on_the_host(tensor, sources))
        entry = {"function_name": f"torch.nn.functional.{name}", "args": [], "kwargs": {}, "output": host(output)}
        if bound is None:
            entry["args"], entry["kwargs"] = [host(value) for value in args], host(kwargs)
        else:
            entry["kwargs"] = {key: host(value) for key, value in bound.arguments.items()}
            named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            entry["signature"] = {"params": [p.name for p in named],
                                  "defaults": {p.name: p.default for p in named if p.default is not p.empty}}
        try:
            self._store.save(entry, f"{self._prefix}torch_nn_functional_{name}", sources)
            self.entries[name] += 1
        except NotSaved as error:
            self.skipped[name, str(error)] += 1


@contextlib.contextmanager
def capture(store, ops=None, skip=RANDOM, max_per_op=200, prefix=""):
    """Saves every call of a torch.nn.functional function within the block to the store at the path `store`.

    `ops` and `skip` are names or patterns (`"embedding"`, `"conv*"`) of functions to capture, and not to capture;
    `max_per_op` is the maximum number of calls per function, None for all. Each call becomes an entry of the capture
    `torch_nn_functional_NAME`, with `prefix` in front. Returns a `Capture`.

    Everything is in the store when the block ends, even if it ends with an exception.
    """
    with Store(store) as opened:
        captured = Capture(opened, ops, skip, max_per_op, prefix)
        captured._hook()
        try:
            yield captured
        finally:
            captured._unhook()


def signature_of(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    # (*args, **kwargs) reveals nothing.
    return signature if kinds - {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} else None


def bind(signature, args, kwargs):
    """The arguments by parameter name, including defaults of those that were not given."""
    if signature is None:
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound


def writes(name, bound):
    """Whether a call is declared to write to its input."""
    return name.endswith("_") or (bound is not None and bound.arguments.get("inplace") is True)


def draws(name, bound, args, kwargs):
    """Whether a call randomly drops some of its input."""
    if name == "scaled_dot_product_attention":
        return (args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)) > 0.0
    return bound is not None and bound.arguments.get("dropout_p", 0.0) > 0.0 and bound.arguments.get("training", True)


def version(tensor):
    """How often torch has seen a write to a tensor. Tensors of inference mode do not count writes."""
    return None if tensor.is_inference() else tensor._version


def tensors(value):
    found = []
    mapped(value, found.append)
    return found


def mapped(value, change):
    """A value with its tensors changed, including those in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value
