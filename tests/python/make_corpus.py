"""Writes good files of every kind that torch loads, each with its truth (`NAME.json`, see corpus_truth).

    python tests/python/make_corpus.py FOLDER

Needs torch 2.11 and NumPy. Every file is loaded again with torch before it counts as good.
"""

import collections
import contextlib
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import types
import warnings
import zipfile

import numpy
import torch
from corpus_truth import Truth

warnings.filterwarnings("ignore")
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex128 complex64 complex32 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 "
    "bits1x8 bits2x4 bits4x2 bits8 bits16"
).split()
VALUES = {}


def value(make):
    VALUES[make.__name__] = make
    return make


class Subclass(torch.Tensor):
    pass


class Slotted(torch.Tensor):
    __slots__ = ["extra"]


class Plain:
    pass


Point = collections.namedtuple("Point", ["x", "y"])


class Wrapper(torch.Tensor):
    """A tensor without elements of its own around another."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return args[0]
        raise NotImplementedError(str(function))


def gone(name):
    """A class from a module that no reader has."""
    module = sys.modules.setdefault("vendor.models", types.ModuleType("vendor.models"))
    sys.modules.setdefault("vendor", types.ModuleType("vendor"))
    made = type(name, (), {"__module__": "vendor.models"})
    setattr(module, name, made)
    return made


def of_dtype(name, bytes=96):
    raw = torch.arange(bytes, dtype=torch.uint8)
    return raw.view(getattr(torch, name))


for _name in DTYPES:
    VALUES[f"dtype_{_name}"] = lambda name=_name: {"tensor": of_dtype(name), "part": of_dtype(name)[1:3]}


@value
def dtypes_together():
    return {name: of_dtype(name) for name in DTYPES}


@value
def one_storage_many_dtypes():
    # Only the dtypes that torch saves over untyped storages can be saved together.
    raw = torch.arange(64, dtype=torch.uint8)
    return [raw.view(getattr(torch, name)) for name in ["uint8", "uint16", "uint32", "uint64", "complex32", "float8_e5m2", "bits16"]]


@value
def not_numbers():
    bits = [0x7FC00001, 0xFFC12345, 0x7F800001, 0x7F800000, 0xFF800000, 0x80000000, 1]
    floats = torch.tensor(bits, dtype=torch.int64).to(torch.int32).view(torch.float32)
    return {"float32": floats, "float16": torch.arange(0x7BFE, 0x7E05, dtype=torch.int16).view(torch.float16)}


@value
def bool_bytes():
    return {"odd": torch.tensor([0, 1, 2, 255, 128], dtype=torch.uint8).view(torch.bool), "usual": torch.tensor([True])}


@value
def strided():
    base = torch.arange(120, dtype=torch.float32).view(4, 5, 6)
    return {
        "base": base,
        "transposed": base.transpose(0, 2),
        "permuted": base.permute(1, 2, 0),
        "sliced": base[1:4:2, ::2, 1:5:3],
        "expanded": base[0, 0, :1].expand(300, 70),
        "partly_expanded": base[:, :1, :].expand(4, 9, 6),
        "scalar": base[3, 2, 1],
        "overlapping": base.as_strided((5, 5), (2, 3), 7),
        "channels_last": torch.arange(48.0).view(1, 2, 4, 6).to(memory_format=torch.channels_last),
        "odd_strides_of_size_1": base.as_strided((1, 3, 1), (77777, 2, 1 << 40), 5),
        "diagonal": base.view(20, 6)[:6].diagonal(),
    }


@value
def without_elements():
    base = torch.arange(8, dtype=torch.int32)
    return {
        "none": torch.zeros(0),
        "shape": torch.zeros(3, 0, 5),
        "at_the_end": base[8:],
        "offset_beyond": base.as_strided((0,), (1,), 100),
        "strange_strides": base.as_strided((0, 7), (1 << 50, 3), 2),
        "after": base,
    }


@value
def storages_shared():
    base = torch.arange(40, dtype=torch.float64)
    alone = torch.arange(3.0)
    return {"all": base, "head": base[:4], "tail": base[30:], "alone": alone, "again": alone}


@value
def small_view_of_large():
    return {"drags": torch.arange(40_000, dtype=torch.int16)[7:11]}


@value
def conjugates():
    z = torch.arange(6, dtype=torch.float32).to(torch.complex64) * (1 + 2j)
    return {"z": z, "conj": z.conj(), "double": z.to(torch.complex128).conj()[1::2]}


@value
def conjugates_of_halves():
    # The legacy format cannot hold them.
    half = torch.arange(12.0).to(torch.complex32) * (1 + 2j)
    return {"half": half, "conj": half.conj()[::3]}


@value
def negatives():
    z = torch.arange(1, 7, dtype=torch.float32).to(torch.complex64) * (1 + 2j)
    return {
        "imag_of_conj": z.clone().conj().imag,
        "float": torch._neg_view(torch.arange(4.0)),
        "double": torch._neg_view(torch.arange(4.0, dtype=torch.float64))[::2],
        "half": torch._neg_view(torch.arange(4.0).to(torch.float16)),
        "bfloat16": torch._neg_view(torch.arange(4.0).to(torch.bfloat16)),
        "integer": torch._neg_view(torch.tensor([0, 1, -5, -(2**31)], dtype=torch.int32)),
        "both": torch._neg_view(z.clone().conj()),
    }


@value
def parameters():
    noted = torch.nn.Parameter(torch.arange(4.0))
    noted.note = "kept"
    return {
        "trained": torch.nn.Parameter(torch.arange(3.0)),
        "frozen": torch.nn.Parameter(torch.arange(3), requires_grad=False),
        "noted": noted,
        "grad": torch.arange(2.0, requires_grad=True),
        "buffer": torch.nn.Buffer(torch.arange(5.0)),
    }


@value
def subclasses():
    attributed = torch.arange(3.0)
    attributed.note = [torch.ones(2)]
    slotted = torch.arange(6.0).as_subclass(Slotted)
    slotted.extra = 5
    slotted.other = torch.arange(2)
    return [torch.arange(5.0).as_subclass(Subclass), attributed, slotted, torch.arange(7.0)]


@value
def wrapped():
    return {"before": torch.arange(2.0), "wrapper": Wrapper(torch.arange(6.0).view(2, 3).t()), "after": torch.arange(3.0)}


@value
def quantized():
    floats, table = torch.arange(4.0), torch.arange(8.0).view(2, 4)
    scales, zeros = torch.tensor([0.5, 0.25]), torch.tensor([0, 1])
    tensor = torch.quantize_per_tensor
    return {
        "quint8": tensor(floats, 0.5, 3, torch.quint8),
        "qint8": tensor(table.t(), 0.5, -3, torch.qint8),
        "qint32": tensor(floats, 0.125, 0, torch.qint32),
        "per_channel": torch.quantize_per_channel(table, scales, zeros, 0, torch.qint8),
        "per_channel_float": torch.quantize_per_channel(table, scales, zeros.float(), 0, torch.quint8),
        "after": floats,
    }


@value
def quantized_packed():
    table, scales, zeros = torch.arange(8.0).view(2, 4), torch.tensor([0.5, 0.25]), torch.tensor([0.0, 1.0])
    return {"quint4x2": torch.quantize_per_channel(table, scales, zeros, 0, torch.quint4x2), "after": torch.arange(9)}


@value
def sparse():
    eye = torch.eye(4) * 3
    coo = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 1, 2]]), torch.arange(3.0), (3, 4))
    return {
        "coo": eye.to_sparse(),
        "uncoalesced": coo,
        "hybrid": torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.arange(4.0).view(2, 2), (3, 2)),
        "empty": torch.zeros(3, 2).to_sparse(),
        "csr": eye.to_sparse_csr(),
        "csc": eye.to_sparse_csc(),
        "bsr": eye.to_sparse_bsr((2, 2)),
        "bsc": eye.to_sparse_bsc((2, 2)),
        "half": eye.to(torch.bfloat16).to_sparse(),
        "after": torch.arange(7.0),
    }


@value
def nested():
    parts = [torch.zeros(2, 2), torch.ones(3, 2)]
    return {"strided": torch.nested.nested_tensor(parts), "after": torch.arange(3.0)}


@value
def nested_jagged():
    parts = [torch.zeros(2), torch.ones(3)]
    return {"before": torch.arange(4), "jagged": torch.nested.nested_tensor(parts, layout=torch.jagged), "after": torch.arange(3)}


@value
def meta():
    meta = torch.zeros(2, 3, dtype=torch.bfloat16, device="meta")
    return {"meta": meta, "transposed": meta.t(), "huge": torch.empty(1 << 40, 1 << 10, device="meta"), "after": torch.ones(2)}


@value
def aliases():
    inner, pair, table = [torch.arange(2.0)], (1, "x"), {"t": torch.arange(3)}
    return {"lists": [inner, inner], "tuples": [pair, pair], "dicts": [table, {"same": table}], "tensor": inner[0], "empty": [(), ()]}


@value
def cycles():
    ring, table = [torch.arange(3.0)], {}
    ring.append(ring)
    table["self"], table["ring"] = table, [ring, table]
    return {"ring": ring, "table": table, "after": torch.arange(2)}


@value
def deep():
    inner = torch.arange(6.0)
    for level in range(500):
        inner = [inner] if level % 2 else {"k": inner}
    return inner


@value
def deep_tuples():
    inner = (torch.arange(6.0),)
    for _ in range(200):
        inner = (inner, 1)
    return inner


@value
def many_tuples():
    return {"tuples": [(i, -i) for i in range(20_000)], "after": torch.arange(4)}


@value
def many_tensors():
    return [torch.full((3,), i, dtype=torch.int16) for i in range(1200)]


@value
def keys():
    same = torch.arange(2.0)
    return {1: torch.arange(7.0), "1": 1, None: 2, (1, "x"): 3, 1.5: 4, b"\x00'": 5, True: 6, -7: same, 'q"\\\n\u20ac': same, "": 8, 2**70: 9, False: 10, 1e22: 11, 1e-7: 12, 3j: 13, torch.float16: 14, torch.device("cuda:1"): 15, (1, ("it's",), None): 16}


@value
def scalars():
    return {
        "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, -(2**2000) - 7, 2**70],
        "floats": [0.0, -0.0, 1.5, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), 0.1],
        "rest": [None, True, False, 1 + 2j, ()],
        "texts": ["", "text", "caf\u00e9 \u20ac \U0001f600", "x" * 300, "new\nline\r\x00"],
        "surrogate": "\ud800",
        "bytes": [b"", b"a\xff", b"x" * 300, bytearray(b"b")],
        "after": torch.arange(3),
    }


@value
def torch_values():
    return {
        "sizes": [torch.Size([]), torch.Size([1, 2])],
        "devices": [torch.device("cuda:1"), torch.device("cpu"), torch.device("meta")],
        "dtypes": [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.uint64, torch.complex32, torch.bool],
        "layouts": [torch.strided, torch.sparse_coo],
        "schemes": [torch.per_tensor_affine],
        "generator": torch.Generator().get_state()[:16],
        "after": torch.arange(3),
    }


@value
def sets():
    return {"set": {1, 2, 3}, "texts": {"one"}, "empty": set(), "frozen": frozenset([2]), "no": frozenset(), "after": torch.arange(2)}


@value
def ordered():
    noted = collections.OrderedDict([("b", 1), ("a", torch.arange(2.0))])
    noted._metadata = collections.OrderedDict([("", {"version": 1})])
    default = collections.defaultdict(list)
    default[1] = torch.arange(3.0)
    return {"noted": noted, "empty": collections.OrderedDict(), "default": default, "counter": collections.Counter("aab")}


@value
def state_dict():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Embedding(16, 8))
    return model.state_dict()


@value
def module():
    torch.manual_seed(4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2))
    model.register_buffer("scale", torch.arange(3.0))
    return {"before": torch.arange(2), "model": model, "after": torch.arange(5.0)}


@value
def training():
    torch.manual_seed(5)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": [0.5, 0.25]}


@value
def named_tuples():
    point = Point(torch.arange(3), 2)
    return {"point": point, "point_again": point, "after": torch.arange(2)}


@value
def numpy_values():
    return {
        "scalars": [numpy.float32(1.5), numpy.int64(3), numpy.bool_(True), numpy.float64(2.5)],
        "array": numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
        "fortran": numpy.asfortranarray(numpy.arange(6, dtype=numpy.int16).reshape(2, 3)),
        "dtype": numpy.dtype("int32"),
        "texts": numpy.array(["a", "bc"]),
        "after": torch.arange(5),
    }


@value
def unknown_classes():
    config, child = gone("Config")(), gone("Child")()
    config.weight, child.weight, config.child = torch.arange(4.0), torch.arange(3), child
    plain = Plain()
    plain.weight = torch.arange(5)
    return {"before": torch.arange(2), "config": config, "class": gone("Config2"), "plain": plain, "after": torch.arange(6)}


@value
def returned():
    return {"max": torch.max(torch.arange(4.0).view(2, 2), 0), "range": range(3), "slice": slice(1, None), "deque": collections.deque([1]), "after": torch.arange(2)}


@value
def storages_alone():
    tensor = torch.arange(4.0)
    return {"untyped": torch.arange(3).untyped_storage(), "typed": tensor.storage(), "view": tensor[1:3]}


@value
def bare_tensor():
    return torch.arange(12).view(3, 4).t()


@value
def bare_list():
    return [torch.arange(2), 5]


@value
def no_tensors():
    return {"text": "only", "number": 1}


def call(function, args, kwargs, output, signature=None):
    entry = {"function_name": f"torch.nn.functional.{function}", "args": args, "kwargs": kwargs, "output": output}
    if signature:
        entry["signature"] = {"params": list(signature), "defaults": {k: v for k, v in signature.items() if v is not ...}}
    return entry


@value
def entry_embedding():
    torch.manual_seed(1)
    weight, index = torch.randn(64, 32, dtype=torch.bfloat16), torch.tensor([[1, 7, 0, 63]])
    output = torch.nn.functional.embedding(index, weight)
    params = {"input": ..., "weight": ..., "padding_idx": None, "max_norm": None, "norm_type": 2.0}
    return call("embedding", [], {"input": index, "weight": weight}, output, params)


@value
def entry_linear():
    torch.manual_seed(2)
    x, weight, bias = torch.randn(3, 8), torch.nn.Parameter(torch.randn(4, 8)), None
    return call("linear", (x, weight), {"bias": bias}, torch.nn.functional.linear(x, weight).detach())


@value
def entry_attention():
    torch.manual_seed(3)
    q = torch.randn(1, 2, 5, 4, dtype=torch.float16).transpose(1, 2)
    return call("scaled_dot_product_attention", [q, q, q], {"is_causal": True, "scale": 0.125}, (q.contiguous(), None))


def truth_of(root):
    return Truth(root).document()


class Corpus:
    def __init__(self, folder):
        self.folder = folder
        self.truths = {}

    def note(self, name, truth):
        self.truths[name] = truth
        (self.folder / f"{name}.json").write_text(json.dumps(truth, ensure_ascii=False, separators=(",", ":")))

    def save(self, name, root, **options):
        torch.save(root, self.folder / name, **options)
        torch.load(self.folder / name, weights_only=False)
        self.note(name, truth_of(root))

    def repack(self, name, source, method=zipfile.ZIP_STORED, change=lambda n, c: (n, c), comment=b"", loads=True):
        """Rewrites an archive with Python's zipfile, without alignment, zip64 or descriptors."""
        with zipfile.ZipFile(self.folder / source) as old, zipfile.ZipFile(self.folder / name, "w", method) as new:
            for info in old.infolist():
                changed = change(info.filename, old.read(info.filename))
                if changed is not None:
                    # A fixed date, so that the bytes are the same every time.
                    entry = zipfile.ZipInfo(changed[0], (1980, 1, 1, 0, 0, 0))
                    entry.compress_type = method
                    new.writestr(entry, changed[1])
            new.comment = comment
        if loads:
            torch.load(self.folder / name, weights_only=False)
        self.note(name, self.truths[source])


def archives(corpus):
    """The same values in archives of every other shape."""
    strided, tensors = VALUES["strided"](), VALUES["many_tensors"]()
    for protocol in [1, 2, 3, 4, 5]:
        for name in ["keys", "scalars", "sets", "ordered", "numpy_values", "unknown_classes", "aliases", "returned"]:
            corpus.save(f"{name}_protocol_{protocol}.pt", VALUES[name](), pickle_protocol=protocol)
    for name in ["strided", "storages_shared", "dtype_float32", "quantized", "sparse", "scalars", "cycles", "conjugates", "parameters", "without_elements", "entry_embedding", "bare_tensor", "unknown_classes", "module", "training"]:
        corpus.save(f"legacy_{name}.pt", VALUES[name](), _use_new_zipfile_serialization=False)
    # Below protocol 4 torch cannot save a memory format.
    formats = [torch.channels_last, torch.preserve_format, torch.arange(2)]
    corpus.save("memory_formats.pt", formats, pickle_protocol=4)
    corpus.save("exactly21characters..pt", strided)
    corpus.save("\u0434\u0430\u043d\u043d\u044b\u0435 caf\u00e9.pt", strided)
    corpus.save("no extension", strided)
    corpus.save("two.dots.ckpt", strided)
    with setting("set_crc32_options", False):
        corpus.save("without_crc.pt", strided)
    save = torch.utils.serialization.config.save
    for alignment in [1, 16, 4096]:
        save.storage_alignment = alignment
        corpus.save(f"alignment_{alignment}.pt", tensors[:9])
    save.storage_alignment = 64
    zeros = [torch.zeros(50), torch.zeros(3, dtype=torch.int64)]
    with torch.serialization.skip_data():
        torch.save(zeros, corpus.folder / "skip_data.pt")
    corpus.note("skip_data.pt", truth_of(zeros))

    deflated = zipfile.ZIP_DEFLATED
    for name in ["strided", "sparse", "entry_embedding", "many_tensors"]:
        corpus.repack(f"deflated_{name}.pt", f"{name}.pt", deflated)
        corpus.repack(f"repacked_{name}.pt", f"{name}.pt")
    corpus.repack("no_byteorder.pt", "strided.pt", change=lambda n, c: None if n.endswith("byteorder") else (n, c))
    only = ("data.pkl", "version")
    corpus.repack("first_zip.pt", "strided.pt", change=lambda n, c: (n, c) if n.endswith(only) or "/data/" in n else None)
    corpus.repack("commented.pt", "strided.pt", comment=b"packed again by hand" * 50)
    corpus.repack("long_comment.pt", "strided.pt", comment=b"c" * 60_000)
    corpus.repack("other_root.pt", "strided.pt", change=lambda n, c: ("a root: \u20ac/" + n.split("/", 1)[1], c))
    corpus.repack("reversed.pt", "strided.pt")
    reverse(corpus, "strided.pt", "reversed.pt")


def reverse(corpus, source, name):
    """The records in the opposite order."""
    with zipfile.ZipFile(corpus.folder / source) as old, zipfile.ZipFile(corpus.folder / name, "w") as new:
        for info in reversed(old.infolist()):
            new.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), old.read(info.filename))
    torch.load(corpus.folder / name, weights_only=False)


@contextlib.contextmanager
def setting(name, value):
    before = torch.serialization.get_crc32_options()
    getattr(torch.serialization, name)(value)
    yield
    getattr(torch.serialization, name)(before)


def big_endian(corpus):
    """The file as a big-endian machine writes it: every number of every typed storage is byte-swapped."""
    values = {name: of_dtype(name) for name in DTYPES[:9] + ["bool", "complex128", "complex64"]}
    values["view"] = values["float32"][3:9:2]
    corpus.save("typed.pt", values)
    # In the order of first reference, which is the order of the dict.
    widths = [8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 8, 4]

    def turn(name, content):
        record = name.split("/", 1)[1]
        if record == "byteorder":
            return name, b"big"
        if not record.startswith("data/"):
            return name, content
        width = widths[int(record.removeprefix("data/"))]
        return name, b"".join(content[i : i + width][::-1] for i in range(0, len(content), width))

    corpus.repack("big_endian.pt", "typed.pt", change=turn)
    corpus.repack("big_endian_deflated.pt", "typed.pt", zipfile.ZIP_DEFLATED, change=turn)


def tar(corpus, name):
    """The first format, which no torch since 0.1.10 writes."""
    floats, longs = struct.pack("<q6f", 6, *range(6)), struct.pack("<q3q", 3, 7, 8, 9)
    storages = pickle.dumps(2, 2) + pickle.dumps((100, "cpu", torch.FloatStorage), 2) + floats
    storages += pickle.dumps((102, "cpu", torch.LongStorage), 2) + longs
    storages += pickle.dumps([(101, 100, 2, 4)], 2)
    tensors = pickle.dumps(3, 2)
    known = [
        (7, 100, (2, 3), (3, 1), 0, torch.FloatTensor),
        (8, 101, (3,), (1,), 1, torch.FloatTensor),
        (9, 102, (2,), (2,), 0, torch.LongTensor),
    ]
    for key, root, shape, strides, offset, kind in known:
        tensors += pickle.dumps((key, root, kind), 2)
        tensors += struct.pack("<ii", len(shape), 0) + struct.pack(f"<{2 * len(shape)}q", *shape, *strides)
        tensors += struct.pack("<q", offset)

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return str(value[1]) if isinstance(value, tuple) and value[0] == "tensor" else None

    file = io.BytesIO()
    Pickler(file, 2).dump({"a": ("tensor", 7), "b": ("tensor", 8), "c": ("tensor", 9), "n": 5})
    with tarfile.open(corpus.folder / name, "w", format=tarfile.USTAR_FORMAT) as archive:
        parts = {"sys_info": pickle.dumps({}, 2), "pickle": file.getvalue(), "storages": storages, "tensors": tensors}
        for member, content in parts.items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    truth = truth_of(torch.load(corpus.folder / name, weights_only=False))
    for tensor in truth["tensors"]:
        # A storage that is part of another is reported as the whole, and the offset counts from its start.
        if tensor["path"] == '$["b"]':
            tensor["storage"], tensor["storage_offset"] = 0, 3
        tensor["storage"] = min(tensor["storage"], 1)
    corpus.note(name, truth)


def legacy_views(corpus, name):
    """The views of storages that torch wrote before 0.4: tensors over parts of one storage, each with its own key."""
    tensors = {"all": torch.arange(6.0), "part": torch.arange(6.0)[2:5]}
    file = io.BytesIO()
    for head in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}):
        pickle.dump(head, file, 2)

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return value.id if isinstance(value, Id) else None

    class Id:
        def __init__(self, *id):
            self.id = id

    class Call:
        def __init__(self, *args):
            self.args = args

        def __reduce__(self):
            return torch._utils._rebuild_tensor, self.args

    known = ("storage", torch.FloatStorage, "70", "cpu", 6)
    whole = Call(Id(*known, None), 0, (6,), (1,))
    part = Call(Id(*known, ("71", 2, 3)), 0, (3,), (1,))
    Pickler(file, 2).dump({"all": whole, "part": part})
    pickle.dump(["70"], file, 2)
    file.write(struct.pack("<q6f", 6, *range(6)))
    (corpus.folder / name).write_bytes(file.getvalue())
    loaded = torch.load(corpus.folder / name, weights_only=False)
    assert all(torch.equal(loaded[key], tensors[key]) for key in tensors)
    truth = truth_of(tensors)
    # The part is reported as a view of the whole.
    truth["tensors"][1] |= {"storage": 0, "storage_offset": 2}
    corpus.note(name, truth)


def main():
    # Pickling values of depth 500 exceeds Python's default recursion limit.
    sys.setrecursionlimit(10_000)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(folder)
    for name, make in VALUES.items():
        corpus.save(f"{name}.pt", make())
    archives(corpus)
    big_endian(corpus)
    tar(corpus, "first_format.pt")
    legacy_views(corpus, "legacy_views.pt")


if __name__ == "__main__":
    main()
