"""The PyTorch side of Plimsoll's Python worker: arguments over mapped files, outputs in shared memory, errors.

`plimsoll_worker.py` has the protocol, and imports this once the channel is open, so that it can report a missing torch.
"""

import errno
import functools
import hashlib
import importlib.util
import json
import math
import mmap
import os
import re
import sys
import traceback

import plimsoll_memory as memory
import plimsoll_timing as timing
import torch
from plimsoll_outputs import ARANGE, BASE, EMPTY, FROM_BUFFER, PLAINLY, Refusal, flattened

ALIGNMENT = 64
# The files of which a KernelForge folder has one, its function, and its build flags.
KERNELFORGE_FILES = ("kernel.cu", "kernel.cpp", "kernel.py")
LAUNCH = re.compile(r"(torch::Tensor\s+launch\s*\([^)]*\))")
CUDA_FLAGS = ["-O3", "-use_fast_math", "--expt-relaxed-constexpr"]
MAX_TEXT = 64 * 1024
MADV_REMOVE = 9
OWN_FILES = ("plimsoll_audit.py", "plimsoll_cuda.py", "plimsoll_cuda_audit.py", "plimsoll_float64.py", "plimsoll_locks.py",
             "plimsoll_memory.py", "plimsoll_outputs.py", "plimsoll_rules.py", "plimsoll_sealed.py", "plimsoll_sources.py", "plimsoll_stale.py",
             "plimsoll_timing.py", "plimsoll_torch.py", "plimsoll_worker.py")
OUT_OF_HOST_MEMORY = ("DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory")
OUT_OF_DEVICE_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "Triton Error [CUDA]: out of memory")
# After these errors the device cannot be used in this process any more.
DEVICE_FAULTS = ("illegal memory access", "device-side assert", "unspecified launch failure", "misaligned address",
                 "illegal instruction", "invalid program counter", "hardware stack error", "uncorrectable ECC error",
                 "launch timed out")
# Arguments of an operator that are not named.
BY_PLACE = re.compile(r"self|arg[0-9]+")
# What to do about a kernel that takes other arguments than those of the call.
ARGUMENTS = ("; a kernel gets every argument of the captured call, by position: `plimsoll kernel new NAME --lang python "
             "--capture CAPTURE` writes a function that takes them")


def described(error):
    """The fields of an `error` message: kind, message, and the kernel's part of the traceback."""
    detail = None if isinstance(error, Refusal) else kernel_traceback(error)
    return {
        "kind": kind_of(error), "message": clipped(message_of(error)),
        "detail": detail and clipped(without_arguments(detail))}


def without_arguments(text):
    """The text without the values of the arguments, tensors among them, that pybind11 shows after the types."""
    return text.partition("\n\nInvoked with: ")[0]


def clipped(text):
    """The end of a text that is too long, because the end shows what went wrong."""
    return text if len(text) <= MAX_TEXT else "... " + text[-MAX_TEXT:]


def message_of(error):
    if isinstance(error, Refusal):
        return str(error)
    try:
        text = without_arguments(str(error))
    except Exception:
        text = "(its message cannot be read)"
    if isinstance(error, TypeError) and not kernel_frames(error):
        text += ARGUMENTS
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def kind_of(error):
    """Whether the host's memory ran out, the device's, or something else happened."""
    if isinstance(error, Refusal):
        return error.kind
    if isinstance(error, MemoryError):
        return "host-oom"
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return "device-oom"
    if isinstance(error, RuntimeError):
        text = message_of(error)
        if any(phrase in text for phrase in OUT_OF_HOST_MEMORY):
            return "host-oom"
        if any(phrase in text for phrase in OUT_OF_DEVICE_MEMORY):
            return "device-oom"
        if ("CUDA error" in text or "[CUDA]" in text) and any(phrase in text for phrase in DEVICE_FAULTS):
            return "device-fault"
    return "device-fault" if device_is_lost() else "exception"


def device_is_lost():
    """Whether the device is lost, however a kernel's library worded the error."""
    if torch.cuda.is_initialized():
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return True
    return False


def kernel_traceback(error):
    """The traceback, from the kernel's first frame on."""
    try:
        shown = traceback.TracebackException.from_exception(error)
        while shown.stack and is_own(shown.stack[0].filename):
            del shown.stack[0]
        return "".join(shown.format())
    except Exception:
        return None


def kernel_frames(error):
    """Whether the error was raised within the kernel, and not by calling it with arguments that it does not take."""
    return not all(is_own(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__))


def is_own(file):
    return os.path.basename(file) in OWN_FILES or file.startswith("<frozen ")


class Maps:
    """The mapped files of a batch, each part once. They are copy-on-write, so a kernel that writes its inputs changes
    no file."""

    def __init__(self, place=memory.map_anywhere):
        self.maps, self.place = {}, place

    def part(self, path, start, end):
        """A mapping of a file from `start`, the start of a page, to `end`."""
        key = path, start, end
        if key not in self.maps:
            try:
                with open(path, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    if size < end:
                        text = f"{path} has {size} bytes, and a storage of it ends at {end}: the file was cut short"
                        raise Refusal("input", text)
                    self.maps[key] = self.place(file.fileno(), end - start, start)
            except OSError as error:
                raise Refusal("input", f"{path} cannot be mapped: {error}") from None
        return self.maps[key]


class Inputs:
    """The values of one call, over mapped files. Calls of a batch share `maps`; otherwise the call takes the place of
    the previous one in `arena`."""

    device = "cpu"

    def __init__(self, call, maps=None, arena=None):
        self.storages = [None] * len(call["storages"])
        self.places = call["storages"]
        self.call = call
        if maps is None:
            extents = map(self.extent, {place["path"] for place in self.places})
            arena.begin(sum((-(-(end - start) // mmap.PAGESIZE) + 1) * mmap.PAGESIZE for start, end in extents))
            maps = Maps(arena.map)
        self.shared = maps
        self.maps = {}
        self.args = [self.value(value) for value in call["args"]]
        self.described = [description(value) for value in self.args]

    def value(self, value):
        if value is None or isinstance(value, (bool, int, str)):
            return value
        (kind, content), = value.items()
        if kind == "tensor":
            return self.tensor(content)
        if kind == "int":
            return int(content)
        if kind == "float":
            return float(content)
        if kind == "complex":
            return complex(*map(float, content))
        if kind == "bytes":
            return bytes.fromhex(content)
        if kind == "dtype":
            return dtype_named(content)
        if kind == "device":
            return torch.device(content)
        if kind == "list":
            return [self.value(item) for item in content]
        if kind == "tuple":
            return tuple(self.value(item) for item in content)
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in content}
        what = f"{content['class']} ({content['detail']})" if kind == "opaque" else kind
        raise Refusal("unsupported", f"a value of kind {what} cannot be given to a kernel")

    def tensor(self, content):
        layout = content["layout"]
        dtype = dtype_named(layout["dtype"])
        storage = self.storage(content["storage"])
        try:
            empty = torch.empty(0, dtype=dtype, device=self.device)
            offset = self.start(content["storage"], dtype) + layout["offset"]
            tensor = empty.set_(storage, offset, layout["shape"], layout["strides"])
        except (RuntimeError, TypeError, NotImplementedError) as error:
            raise Refusal("unsupported", f"torch {torch.__version__} makes no {layout['dtype']} tensor of shape "
                          f"{layout['shape']} over a storage of {storage.nbytes()} bytes: {error}") from None
        if tensor.is_quantized:
            raise Refusal("unsupported", f"a {layout['dtype']} tensor has no scale and zero point in the call")
        if layout.get("neg"):
            tensor = torch._neg_view(tensor)
        return tensor.conj() if layout.get("conj") else tensor

    def storage(self, index):
        if self.storages[index] is None:
            place = self.places[index]
            if place["bytes"] == 0:
                self.storages[index] = torch.empty(0, dtype=torch.uint8, device="cpu").untyped_storage()
            else:
                mapping, start = self.map(place["path"])
                offset = place["offset"] - start
                data = torch.frombuffer(mapping, dtype=torch.uint8, offset=offset, count=place["bytes"])
                self.storages[index] = data.untyped_storage()
        return self.storages[index]

    def start(self, index, dtype):
        """The position of a storage in its memory, in elements."""
        return 0

    def extent(self, path):
        """The part of a file that the call needs, from the start of the page of its first byte."""
        places = [place for place in self.places if place["path"] == path and place["bytes"] > 0]
        if not places:
            return 0, 0
        start = min(place["offset"] for place in places)
        return start - start % mmap.PAGESIZE, max(place["offset"] + place["bytes"] for place in places)

    def map(self, path):
        """A mapping of the part of a file that the call needs, and the offset in the file at which it starts."""
        if path not in self.maps:
            start, end = self.extent(path)
            self.maps[path] = self.shared.part(path, start, end), start
        return self.maps[path]

    def check_described(self):
        """Rejects arguments that changed in anything but their bytes, because the following launches would have less to
        do."""
        for name, before, now in zip(self.call["params"], self.described, map(description, self.args)):
            if before != now:
                what = f"the kernel changed its argument `{name}` itself{difference(before, now)}"
                raise Refusal("mutated-input", f"{what}: later launches are given the same object; leave its shape, strides, "
                              "storage and items as they are, and work on a view or a copy")

    def mutated(self):
        """The names of the arguments whose bytes the kernel has changed."""
        self.check_described()
        changed = set()
        for path, (mapping, start) in self.maps.items():
            for first, end in memory.changed(mapping, path, start):
                for index, place in enumerate(self.places):
                    if place["path"] == path and place["offset"] < end and first < place["offset"] + place["bytes"]:
                        changed.add(index)
        named = zip(self.call["params"], self.call["args"])
        return [name for name, value in named if changed.intersection(storages_of(value))]

    def restore(self):
        """Undoes writes to the pages and drops the pages from memory, because calls of a batch share maps."""
        for mapping, _ in self.maps.values():
            mapping.madvise(mmap.MADV_DONTNEED)

    def drop(self):
        """Drops the call and everything that a kernel wrote from memory."""
        self.restore()


class Same:
    """An object that is equal only to itself."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Same and self.value is other.value


def description(value, tensor=torch.Tensor, disabled=torch._C.DisableTorchFunction):
    """Everything about a value except the bytes of its tensors, which a kernel must not change."""
    if type(value) in (list, tuple):
        return [Same(value), *map(description, value)]
    if type(value) is dict:
        return [Same(value), *((Same(key), description(item)) for key, item in value.items())]
    if isinstance(value, tensor):
        with disabled():
            if tensor.layout.__get__(value) != torch.strided:
                return {"object": Same(value), "layout": str(tensor.layout.__get__(value))}
            return {"object": Same(value), "dtype": str(tensor.dtype.__get__(value)), "shape": list(tensor.size(value)),
                    "strides": list(tensor.stride(value)), "storage offset": tensor.storage_offset(value),
                    "storage": tensor.untyped_storage(value).data_ptr(), "bytes of its storage":
                    tensor.untyped_storage(value).nbytes(), "conjugate bit": tensor.is_conj(value),
                    "negative bit": tensor.is_neg(value)}
    return Same(value)


def difference(before, now):
    """How a tensor differs from its earlier description, if it has one."""
    if type(before) is not dict or type(now) is not dict:
        return ""
    other = [name for name in before if before[name] != now.get(name)]
    field = next((name for name in ("shape", "strides", "storage offset", "dtype") if name in other), None)
    return f": {field} {before[field]} became {now[field]}" if field in now else f": another {other[0]}"


def storages_of(value):
    """The storages under the tensors of a value in its message form."""
    return (tensor["storage"] for tensor in tensors_of(value))


def tensors_of(value):
    """The tensors of a value in its message form."""
    if isinstance(value, dict):
        if "tensor" in value:
            yield value["tensor"]
        else:
            for item in value.values():
                yield from tensors_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from tensors_of(item)


def dtype_named(name):
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Refusal("unsupported", f"torch {torch.__version__} has no dtype {name}")
    return dtype


def is_plain(tensor):
    """Whether the bytes of a tensor are its elements, one after the other."""
    return BASE.is_contiguous(tensor) and not (BASE.is_conj(tensor) or BASE.is_neg(tensor))


def on_host(tensor):
    """Whether the memory of a tensor is the host's, which the system can read."""
    return BASE.device.__get__(tensor).type == "cpu"


def extent(tensor):
    """The size of the memory from the first element of a tensor to its last."""
    spans = zip(BASE.shape.__get__(tensor), BASE.stride(tensor))
    return (1 + sum((count - 1) * stride for count, stride in spans)) * BASE.element_size(tensor)


# A piece costs the system as much as this many bytes, and this many are put there at once.
PIECE, PIECES_AT_ONCE = 320, 1024
# For how many layouts of outputs pieces are kept.
LAYOUTS = 64


class Pieces:
    """An output, such as a diagonal, as pieces without gaps: `count` of `run` bytes, along the dimensions that are left."""

    def __init__(self, shape, strides, size):
        self.layout, self.run = (shape, strides, size), size
        outer = list(zip(shape, strides))
        while outer and (outer[-1][0] == 1 or outer[-1][1] * size == self.run):
            self.run *= outer.pop()[0]
        self.count = math.prod(count for count, _ in outer)
        self.outer = outer
        self.places = None

    def serve(self, length):
        """Whether they are put faster than all `length` bytes with the gaps."""
        return self.count * (self.run + PIECE) < length

    def at(self, address):
        """The address and the size of each, as the system wants them."""
        if self.places is None:
            starts = ARANGE(1, device="cpu")
            for count, stride in self.outer:
                inner = ARANGE(count, device="cpu")
                BASE.mul_(inner, stride * self.layout[2])
                starts = BASE.reshape(BASE.add(BASE.unsqueeze(starts, 1), inner), -1)
            self.places = EMPTY((self.count, 2), dtype=torch.int64, device="cpu")
            BASE.copy_(BASE.select(self.places, 1, 0), starts)
            BASE.fill_(BASE.select(self.places, 1, 1), self.run)
        places = BASE.clone(self.places)
        BASE.add_(BASE.select(places, 1, 0), address)
        return places


def unreadable(error):
    """The error of memory that the system could not read, or of a memfd that it could not write."""
    if error != errno.EFAULT:
        return Refusal("host-oom", f"outputs do not fit in memory: {os.strerror(error)}")
    return Refusal("not-a-tensor", "the memory of the output cannot be read: it would be computed when it is read; return memory "
                   "that holds the output")


class Outputs:
    """The memfd with the outputs of launches, one after the other."""

    alignment = ALIGNMENT

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.mapping = None
        self.layouts = {}
        # How near other outputs should come to these, by path, if the kernel says so.
        self.tolerances = {}

    def write(self, output):
        """Copies every tensor of an output to the memfd, and returns the leaves."""
        return self.write_from(0, output)[0]

    def check(self, output):
        """Rejects an output that holds no result, or computes when it is read."""
        with PLAINLY():
            for path, leaf in flattened(output, ""):
                self.check_leaf(path, leaf)

    def check_leaf(self, path, leaf):
        if not isinstance(leaf, torch.Tensor):
            return
        layout, quantized, meta = (of.__get__(leaf) for of in (BASE.layout, BASE.is_quantized, BASE.is_meta))
        if layout != torch.strided or quantized or meta:
            kind = "quantized" if quantized else "meta" if meta else str(layout)
            raise Refusal("unsupported", f"output {path or '(the only one)'} is a tensor of kind {kind}")

    def write_from(self, end, output):
        """Like `write`, from a given place on; returns the leaves, and where they end."""
        with PLAINLY():
            return self.written(end, output)

    def written(self, end, output):
        leaves, tensors = [], []
        for path, leaf in flattened(output, ""):
            if not isinstance(leaf, torch.Tensor):
                leaves.append({"path": path, "value": encoded(leaf)})
                continue
            self.check_leaf(path, leaf)
            size = BASE.numel(leaf) * BASE.element_size(leaf)
            dtype = str(BASE.dtype.__get__(leaf)).replace("torch.", "")
            place = {"dtype": dtype, "shape": list(BASE.shape.__get__(leaf)), "offset": end, "bytes": size}
            if path in self.tolerances:
                place["tolerances"] = self.tolerances[path]
            leaves.append({"path": path, "tensor": place})
            tensors.append((leaf, end, size))
            end += -(-size // ALIGNMENT) * ALIGNMENT
        extents = [0, *(extent(leaf) for leaf, _, size in tensors if size and not is_plain(leaf) and not self.pieces_of(leaf))]
        self.grow(end + max(extents))
        for tensor, offset, size in tensors:
            if size:
                self.copy(tensor, offset, size, end)
        return leaves, end

    def copy(self, tensor, offset, size, end):
        """Copies a tensor to its place, by functions that a kernel cannot replace. The system reads the host's memory: one with
        gaps as it lies first, to the room after `end`, or its pieces if the gaps are wide."""
        here = on_host(tensor)
        if here and is_plain(tensor):
            return self.put(BASE.data_ptr(tensor), size, offset)
        if pieces := self.pieces_of(tensor):
            return self.put_pieces(pieces, pieces.at(BASE.data_ptr(tensor)), offset)
        source, dtype = BASE.detach(tensor), BASE.dtype.__get__(tensor)
        shape, strides = BASE.shape.__get__(source), BASE.stride(source)
        if dtype == torch.bool:
            # Copying bools would normalize every byte to 0 or 1.
            dtype = torch.uint8
            source = BASE.view(source, dtype)
        if here and not (BASE.is_conj(tensor) or BASE.is_neg(tensor)):
            length = extent(tensor)
            self.put(BASE.data_ptr(tensor), length, end)
            lies = FROM_BUFFER(self.mapping, dtype=torch.uint8, offset=end, count=length)
            source = BASE.set_(EMPTY(0, dtype=dtype, device="cpu"), BASE.untyped_storage(lies), 0, shape, strides)
        room = FROM_BUFFER(self.mapping, dtype=torch.uint8, offset=offset, count=size)
        target = EMPTY(0, dtype=dtype, device="cpu")
        BASE.copy_(BASE.set_(target, BASE.untyped_storage(room), 0, shape), source)

    def pieces_of(self, tensor):
        """The pieces of a tensor if its gaps are wide; those of a layout are kept for its next launch."""
        if not on_host(tensor) or BASE.is_conj(tensor) or BASE.is_neg(tensor):
            return None
        layout = (tuple(BASE.shape.__get__(tensor)), BASE.stride(tensor), BASE.element_size(tensor))
        if layout not in self.layouts:
            if len(self.layouts) == LAYOUTS:
                self.layouts.clear()
            pieces = Pieces(*layout)
            self.layouts[layout] = pieces if pieces.serve(extent(tensor)) else None
        return self.layouts[layout]

    def put_pieces(self, pieces, places, offset, pwritev=memory.held.pwritev):
        """Copies the pieces of a tensor to the memfd, one after the other."""
        first = BASE.data_ptr(places)
        for at in range(0, pieces.count, PIECES_AT_ONCE):
            count = min(PIECES_AT_ONCE, pieces.count - at)
            if pwritev(self.descriptor, first + 16 * at, count, offset + at * pieces.run) != count * pieces.run:
                raise unreadable(errno.EFAULT)

    def put(self, address, size, offset):
        """Copies memory of the kernel to the memfd."""
        error = memory.put(self.descriptor, address, size, offset)
        if error:
            raise unreadable(error)

    def grow(self, size):
        if size > (len(self.mapping) if self.mapping else 0):
            size += -size % mmap.PAGESIZE
            size = max(size, os.fstat(self.descriptor).st_size)
            try:
                os.ftruncate(self.descriptor, size)
                self.mapping = mmap.mmap(self.descriptor, size)
            except OSError as error:
                raise Refusal("host-oom", f"outputs of {size} bytes do not fit in memory: {error}") from None

    def release(self):
        """Frees the pages, because the memfd itself cannot shrink."""
        if self.mapping:
            self.mapping.madvise(MADV_REMOVE)
            self.mapping = None


def encoded(value):
    """A leaf that is not a tensor, as VALUE."""
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else {"int": str(value)}
    if type(value) is float:
        return {"float": encoded_float(value)}
    if type(value) is complex:
        return {"complex": [encoded_float(value.real), encoded_float(value.imag)]}
    if type(value) in (bytes, bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).replace("torch.", "")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    return {"opaque": {"class": f"{type(value).__module__}.{type(value).__qualname__}", "detail": "not a plain value"}}


def encoded_float(value):
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def load_kernel(spec, with_cuda=False):
    """The function to launch. The bytes of the file itself are compiled, whatever a cache beside it contains."""
    if "kernelforge" in spec:
        file, function = kernelforge_file(spec["kernelforge"]), "launch"
        if not file.endswith(".py"):
            return build_extension(file, with_cuda)
    elif "python" in spec:
        file, function = spec["python"]["file"], spec["python"]["function"]
    elif "torch" in spec:
        return Operator(spec["torch"])
    elif "float64" in spec:
        from plimsoll_float64 import Widened

        return Widened(spec["float64"])
    else:
        text = f"the Python worker launches functions of Python files, and the kernel is {json.dumps(spec)}"
        raise Refusal("unsupported", text)
    name = "plimsoll_kernel_" + os.path.splitext(os.path.basename(file))[0]
    module_spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(file))
    sys.argv = [file]
    loader = module_spec.loader
    exec(loader.source_to_code(loader.get_data(file), file), module.__dict__)
    launch = getattr(module, function, None)
    if not callable(launch):
        found = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise Refusal("exception", f"{file} has no function `{function}`; it has {', '.join(found) or 'none'}")
    return launch


class Operator:
    """An operator of torch by its name, such as `linear`, `torch.cat` or `aten::mm`, which takes arguments by theirs."""

    def __init__(self, name):
        self.params, self.tolerances = [], {}
        namespace, separator, operator = name.partition("::")
        if separator:
            places, path = [getattr(torch.ops, namespace)], operator.split(".")
        elif name.startswith("torch."):
            places, path = [torch], name.split(".")[1:]
        else:
            modules = [torch._C._nn, torch._C._linalg, torch._C._fft, torch._C._special]
            places, path = [torch.nn.functional, torch, torch.special, *modules], [name]
        found = (functools.reduce(lambda place, part: getattr(place, part, None), path, place) for place in places)
        self.function = next(filter(callable, found), None)
        if self.function is None:
            raise Refusal("unsupported", f"this torch has no `{name}`")

    def begin(self, call):
        """Takes what is known of a call besides its arguments."""
        self.params = call["params"]

    def __call__(self, *args):
        named = list(zip(self.params, args))
        by_place = [value for name, value in named if BY_PLACE.fullmatch(name)]
        return self.function(*by_place, **{name: value for name, value in named if not BY_PLACE.fullmatch(name)})


def kernel_file(spec):
    """The file of the kernel itself."""
    if "torch" in spec or "float64" in spec:
        return torch.__file__
    return kernelforge_file(spec["kernelforge"]) if "kernelforge" in spec else spec["python"]["file"]


def kernelforge_file(folder):
    """The kernel file in a folder as KernelForge writes it. The supervisor has checked that there is one."""
    files = (os.path.join(folder, name) for name in KERNELFORGE_FILES)
    return next((file for file in files if os.path.isfile(file)), os.path.join(folder, KERNELFORGE_FILES[0]))


def build_extension(file, with_cuda):
    """The function `launch` in C++ or CUDA, built by load_inline with KernelForge's flags. Builds are cached in torch's
    build folder by their contents."""
    from torch.utils import cpp_extension

    with open(file, encoding="utf-8") as source:
        code = source.read()
    found = LAUNCH.search(code)
    if not found:
        raise Refusal("exception", f"{file} has no function `torch::Tensor launch(..)`")
    build = {"cpp_sources": code}
    if with_cuda:
        build = {"cpp_sources": found[1] + ";", "cuda_sources": code, "extra_cuda_cflags": CUDA_FLAGS}
    # Files that it includes by name may differ between folders even if the code does not.
    place = os.path.dirname(file) if '#include "' in code else None
    key = json.dumps([code, place, with_cuda, str(torch.__version__)])
    name = "plimsoll_" + hashlib.sha256(key.encode()).hexdigest()[:16]
    # Files that it includes by name are beside it.
    include = [os.path.dirname(file)]
    module = cpp_extension.load_inline(name, functions=["launch"], with_cuda=with_cuda, extra_include_paths=include, **build)
    return module.launch
