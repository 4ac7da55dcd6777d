"""Writes damaged and malicious files, without torch: each is built by hand.

    python tests/python/make_hostile.py FOLDER

`expected.json` says what a reader may do with each: `refused`, an error when it is opened or read completely, or
`harmless`, an error or values, for unusual files that torch would read as well.
"""

import functools
import io
import json
import pathlib
import struct
import sys
import tarfile
import zlib

EXPECTED = {}
FOLDER = None
LOCAL, CENTRAL, END, END64, LOCATOR = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"


def write(name, content, expected="refused"):
    assert name not in EXPECTED, name
    (FOLDER / name).write_bytes(content)
    EXPECTED[name] = expected


class Record:
    """One record of an archive; every field of a header can be set wrong."""

    def __init__(self, name, content=b"", **wrong):
        self.name = name if isinstance(name, bytes) else name.encode()
        self.content = content
        self.wrong = wrong

    def get(self, field, value):
        return self.wrong.get(field, value)


def archive(records, comment=b"", zip64=True, end=None, tail=b"", directory_change=None, gap=b""):
    """An archive as torch lays it out: zip64 end records always, sizes in data descriptors."""
    end = end or {}
    out, central, marks = bytearray(), bytearray(), {}
    for r in records:
        data = r.get("data", r.content)
        header, crc = r.get("header", len(out)), r.get("crc", zlib.crc32(r.content))
        csize, usize = r.get("csize", len(data)), r.get("usize", len(r.content))
        flags, method = r.get("flags", 0x808), r.get("method", 0)
        marks[r.name] = {"header": len(out)}
        if "header" not in r.wrong:
            local = r.get("local_name", r.name)
            extra = r.get("local_extra", b"")
            fields = (0, r.get("local_flags", flags), r.get("local_method", method), 0, 0, r.get("local_crc", 0))
            fields += (r.get("local_csize", 0), r.get("local_usize", 0), r.get("local_name_length", len(local)), len(extra))
            out += r.get("local_signature", LOCAL) + struct.pack("<HHHHHIIIHH", *fields) + local + extra
            marks[r.name]["data"] = len(out)
            out += data
            marks[r.name]["descriptor"] = len(out)
            out += b"PK\x07\x08" + struct.pack("<III", crc & 0xFFFFFFFF, csize & 0xFFFFFFFF, usize & 0xFFFFFFFF)
        extra = r.get("extra", b"")
        fields = (0, 0, flags, method, 0, 0, crc, csize, usize, len(r.name), len(extra), 0, r.get("disk", 0), 0, 0, header)
        central += CENTRAL + struct.pack("<HHHHHHIIIHHHHHII", *fields) + r.name + extra
    out += gap
    if directory_change:
        central = directory_change(bytes(central))
    start, size, count = end.get("start", len(out)), end.get("size", len(central)), end.get("count", len(records))
    marks["directory"] = {"start": len(out), "end": len(out) + len(central)}
    out += central
    at = end.get("at64", len(out))
    if zip64:
        count64 = end.get("count64", count)
        fields = (44, 0x031E, 45, end.get("disk64", 0), 0, count64, count64, end.get("size64", size), end.get("start64", start))
        out += END64 + struct.pack("<QHHIIQQQQ", *fields)
        out += LOCATOR + struct.pack("<IQI", 0, at, end.get("disks", 1))
    fields = (end.get("disk", 0), 0, count & 0xFFFF, count & 0xFFFF, min(size, 2**32 - 1), min(start, 2**32 - 1))
    out += END + struct.pack("<HHHHIIH", *fields, end.get("comment_length", len(comment))) + comment + tail
    return bytes(out), marks


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(value)) + value


def integer(value):
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def ints(values):
    return b"(" + b"".join(map(integer, values)) + b"t"


def storage(key="0", numel=6, kind="FloatStorage", count=None):
    items = text("storage") + f"ctorch\n{kind}\n".encode() + (text(key) if isinstance(key, str) else key) + text("cpu")
    return b"(" + items + integer(numel) + b"tQ" if count is None else b"(" + items[:count] + b"tQ"


def tensor(shape=(2, 3), strides=(3, 1), offset=0, function="_rebuild_tensor_v2", tail=b"", **of):
    args = storage(**of) + integer(offset) + ints(shape) + ints(strides) + b"\x89ccollections\nOrderedDict\n)R" + tail
    return f"ctorch._utils\n{function}\n(".encode() + args + b"tR"


def pickled(body, protocol=2):
    return b"\x80" + bytes([protocol]) + body + b"."


FLOATS = struct.pack("<6f", *range(6))


def records(pickle=None, data=FLOATS, root="archive", version=b"3\n", order=b"little", more=(), **pickle_wrong):
    pickle = pickled(tensor()) if pickle is None else pickle
    made = [Record(f"{root}/data.pkl", pickle, **pickle_wrong)]
    if order is not None:
        made.append(Record(f"{root}/byteorder", order))
    if data is not None:
        made.append(data if isinstance(data, Record) else Record(f"{root}/data/0", data))
    if version is not None:
        made.append(Record(f"{root}/version", version))
    return made + list(more)


def file(body=None, **how):
    """An archive around the pickle of `body`."""
    return archive(records(None if body is None else pickled(body), **how))[0]


def no_archives():
    write("empty.pt", b"")
    write("one_byte.pt", b"P")
    write("text.pt", b"this is a text, and no file of torch.save\n" * 20)
    write("zeros.pt", bytes(4096))
    write("only_magic.pt", LOCAL)
    write("magic_and_zeros.pt", LOCAL + bytes(500))
    write("only_end.pt", archive([])[0])
    write("pickle_alone.pt", pickled(b"]"))
    write("safetensors.pt", struct.pack("<Q", 2) + b"{}")


def truncations():
    whole, marks = archive(records())
    cuts = {len(whole) - 1, len(whole) - 22, len(whole) - 42, len(whole) - 98, 4, 29, 30}
    cuts |= {at for mark in marks.values() for at in mark.values()}
    for at in sorted(cuts - {0}):
        write(f"truncated_{at:04}.pt", whole[:at])
    write("shifted.pt", b"#" * 7 + whole)
    write("appended.pt", whole + b"#")
    for name in marks:
        if name != "directory":
            hole = bytearray(whole)
            hole[marks[name]["header"]] = 0
            write(f"no_local_header_{name.decode().replace('/', '_')}.pt", bytes(hole))


def damaged_archives():
    data = lambda **wrong: records(data=Record("archive/data/0", FLOATS, **wrong))
    build = lambda name, made, expected="refused", **how: write(name, archive(made, **how)[0], expected)
    build("wrong_crc_of_storage.pt", data(crc=1))
    build("wrong_crc_of_pickle.pt", records(crc=1))
    build("stored_sizes_differ.pt", data(csize=20))
    build("stored_size_too_large.pt", data(csize=1 << 20, usize=1 << 20))
    build("stored_size_4_gib.pt", data(csize=2**32 - 2, usize=2**32 - 2))
    build("zip64_size_missing.pt", data(csize=2**32 - 1, usize=2**32 - 1))
    field = lambda *sizes: struct.pack("<HH", 1, 8 * len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
    ones = 2**32 - 1
    build("zip64_size_lies.pt", data(csize=ones, usize=ones, extra=field(2**40, 2**40)))
    build("zip64_size_overflows.pt", data(csize=ones, usize=ones, extra=field(2**64 - 1, 2**64 - 1)))
    build("zip64_field_too_long.pt", data(csize=ones, usize=ones, extra=struct.pack("<HHQ", 1, 60_000, 24)))
    build("zip64_offset_overflows.pt", [*records(data=None), Record("archive/data/0", FLOATS, header=ones, extra=field(2**64 - 9))])
    build("overlap.pt", [*records(data=None), Record("archive/data/0", FLOATS), Record("archive/data/1", FLOATS[:8], header=0)])
    one = [Record("archive/data/0", FLOATS + b"_" * 200)]
    build("overlap_within.pt", records(data=one[0]) + [Record("archive/data/1", header=60)])
    build("duplicate.pt", records() + [Record("archive/data/0", FLOATS)])
    build("duplicate_pickle.pt", records() + [Record("archive/data.pkl", pickled(b"]"))])
    build("same_header_twice.pt", records() + [Record("archive/data/0", FLOATS, header=0)])
    build("local_name_differs.pt", data(local_name=b"archive/data/1"))
    build("local_name_longer.pt", data(local_name=b"archive/data/00"))
    build("local_name_length_lies.pt", data(local_name_length=60_000))
    build("local_method_differs.pt", data(local_method=8))
    build("local_sizes_differ.pt", data(local_csize=23, local_usize=23))
    build("local_crc_differs.pt", data(local_crc=7))
    build("local_encrypted.pt", data(local_flags=0x809))
    build("local_extra_covers_data.pt", data(local_extra=b"FB" + struct.pack("<H", 65_000)), "harmless")
    build("header_out_of_file.pt", [*records(data=None), Record("archive/data/0", FLOATS, header=10**9)])
    build("header_in_directory.pt", [*records(data=None), Record("archive/data/0", FLOATS, header=420)])
    build("encrypted.pt", data(flags=0x809))
    build("strongly_encrypted.pt", data(flags=0x848))
    build("masked_headers.pt", data(flags=0x2808))
    for method in [1, 6, 9, 12, 14, 93, 99, 65535]:
        build(f"method_{method}.pt", data(method=method))
    build("other_disk.pt", data(disk=3))
    for name in ["../escape", "archive/../../escape", "/absolute", "archive\\..\\..\\escape", "C:\\escape", "\\\\host\\share"]:
        number = sum(n.startswith("traversal") for n in EXPECTED)
        build(f"traversal_{number}.pt", records(more=[Record(name, b"x")]))
    build("name_with_nul.pt", records(more=[Record("archive/a\0b", b"x")]))
    build("name_no_text.pt", records(more=[Record(b"archive/\xff\xfe", b"x")]))
    build("name_empty.pt", records(more=[Record("", b"x")]))
    for name, version in [("0", b"0\n"), ("11", b"11\n"), ("huge", b"9" * 40), ("text", b"three"), ("empty", b""), ("none", None)]:
        build(f"version_{name}.pt", records(version=version))
    build("version_large.pt", records(version=b"3" + b" " * 100_000))
    build("byteorder_unknown.pt", records(order=b"middle"))
    build("no_pickle.pt", records()[1:])
    build("no_storage.pt", records(data=None))
    build("big_endian_untyped.pt", records(pickle=pickled(untyped()), order=b"big"))
    ends = {
        "count_more": {"count": 9},
        "count_less": {"count": 2},
        "count_huge": {"count": 65535, "count64": 2**60},
        "count_differs": {"count64": 2},
        "size_more": {"size": 10**6},
        "size_less": {"size": 50},
        "size_huge": {"size": 2**32 - 1, "size64": 2**63},
        "start_beyond": {"start": 10**8},
        "start_overflows": {"start": 2**32 - 1, "start64": 2**64 - 1},
        "start_differs": {"start64": 3},
        "start_zero": {"start": 0},
        "at64_beyond": {"at64": 10**9},
        "at64_overflows": {"at64": 2**64 - 4},
        "at64_wrong": {"at64": 5},
        "disk": {"disk": 1},
        "disk64": {"disk64": 1},
        "disks": {"disks": 7},
        "comment_length": {"comment_length": 100},
    }
    for name, end in ends.items():
        build(f"end_{name}.pt", records(), end=end)
    build("end_count_without_zip64.pt", records(), end={"count": 9}, zip64=False)
    build("directory_damaged.pt", records(), directory_change=lambda central: b"XX" + central[2:])
    build("directory_name_length.pt", records(), directory_change=lambda central: central[:28] + b"\xff\xff" + central[30:])
    build("directory_gap.pt", records(), gap=b"\0" * 64, expected="harmless")
    many = [Record(f"archive/data/{i}", b"") for i in range(60_000)]
    build("many_empty_records.pt", records(data=FLOATS, more=many[1:]), "harmless")


def bombs():
    @functools.cache
    def deflated(content_bytes, chunk=1 << 20):
        squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
        crc, out = 0, b""
        for _ in range(content_bytes // chunk):
            out += squeezer.compress(bytes(chunk))
            crc = zlib.crc32(bytes(chunk), crc)
        return out + squeezer.flush(), crc

    def squeeze(content_bytes, claimed=None):
        out, crc = deflated(content_bytes)
        return {"data": out, "method": 8, "crc": crc, "usize": content_bytes if claimed is None else claimed}

    data = lambda wrong: archive(records(data=Record("archive/data/0", FLOATS, **wrong)))[0]
    write("inflate_bomb_storage.pt", data(squeeze(300 << 20)))
    write("inflate_bomb_hidden.pt", data(squeeze(300 << 20, claimed=24)))
    write("inflate_short.pt", data(squeeze(1 << 20, claimed=2 << 20)))
    write("inflate_impossible.pt", data({"data": b"\x03\0", "method": 8, "usize": 1 << 30}))
    write("inflate_damaged.pt", data({"data": b"\xff" * 40, "method": 8, "usize": 24}))
    write("inflate_empty.pt", data({"data": b"", "method": 8, "usize": 24}))
    pickle = squeeze(100 << 20)
    write("inflate_bomb_pickle.pt", archive(records(pickle=b"", **pickle))[0])
    wrong = squeeze(100 << 20)
    many = [Record(f"archive/data/{i}", FLOATS, **wrong) for i in range(1, 9)]
    write("inflate_bomb_of_many.pt", archive(records(more=many))[0])


def untyped(dtype="ctorch\nuint16\n", key="0", numel=24, shape=(12,), strides=(1,), function="_rebuild_tensor_v3"):
    tail = dtype.encode()
    return tensor(shape, strides, function=function, tail=tail, key=key, numel=numel, kind="UntypedStorage").replace(
        b"ctorch\nUntypedStorage\n", b"ctorch.storage\nUntypedStorage\n"
    )


def layouts():
    wrong = {
        "outside": tensor((2, 4), (4, 1)),
        "outside_by_offset": tensor(offset=1),
        "outside_by_stride": tensor(strides=(4, 1)),
        "outside_far": tensor((2,), (1,), offset=2**62),
        "outside_scalar": tensor((), (), offset=6),
        "negative_size": tensor((-2, 3)),
        "negative_stride": tensor(strides=(-3, 1)),
        "negative_offset": tensor(offset=-1),
        "negative_numel": tensor(numel=-1),
        "product_of_sizes_overflows": tensor((2**33, 2**33), (0, 0)),
        "product_with_element_overflows": tensor((2**62,), (0,)),
        "stride_overflows": tensor((2**20, 3), (2**60, 1)),
        "offset_overflows": tensor((2, 3), (3, 1), offset=2**63 - 1),
        "size_beyond_64_bits": tensor((2**64, 3), (3, 1)),
        "numel_beyond_64_bits": tensor(numel=2**64 + 6),
        "numel_overflows": tensor(numel=2**62),
        "numel_more_than_record": tensor(numel=7),
        "fewer_strides": tensor((2, 3), (1,)),
        "more_strides": tensor((2,), (3, 1)),
        "sizes_no_tuple": tensor().replace(ints((2, 3)), integer(6), 1),
        "sizes_of_texts": tensor().replace(ints((2, 3)), b"(" + text("2") + text("3") + b"t", 1),
        "conj_of_float": tensor(tail=b"}" + text("conj") + b"\x88s"),
        "unknown_storage_class": tensor(kind="FancyStorage"),
        "key_leads_out": tensor(key="../0"),
        "key_missing": tensor(key="1"),
        "key_empty": tensor(key=""),
        "key_no_text": tensor(key=b"]"),
        "persistent_id_number": b"K\x05Q",
        "persistent_id_short": b"(" + text("storage") + b"tQ",
        "persistent_id_other": b"(" + text("module") + b"tQ",
        "persistent_id_itself": b"]q\0h\0Q",
        "typed_as_v3": untyped("N"),
        "dtype_unknown": untyped(text("float32").decode("latin1")),
        "no_arguments": b"ctorch._utils\n_rebuild_tensor_v2\n)R",
        "many_dimensions": tensor((1,) * 100_000, (1,) * 99_999),
        "two_claims_one_short": b"(" + tensor() + tensor(numel=10**6, shape=(10**6,), strides=(1,)) + b"t",
        "meta_overflow": b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n" + ints((2**40, 2**40)) + ints((0, 0)) + b"\x89tR",
        "parameter_of_itself": b"]q\0(ctorch._utils\n_rebuild_parameter\n(h\0\x88h\0tRe",
    }
    for name, body in wrong.items():
        write(f"layout_{name}.pt", file(body), "harmless" if name in ("parameter_of_itself",) else "refused")


def pickles():
    refused = {
        "empty": b"",
        "no_stop": b"\x80\x02]",
        "only_stop": b".",
        "protocol_6": pickled(b"]", 6),
        "protocol_255": pickled(b"]", 255),
        "unknown_opcode": pickled(b"\xff"),
        "mark_missing": pickled(b"t"),
        "stack_empty": pickled(b"0"),
        "stack_empty_append": pickled(b"]0a"),
        "memo_missing": pickled(b"h\x05"),
        "memo_missing_far": pickled(b"j\xff\xff\xff\xff"),
        "append_to_text": pickled(text("x") + b"Na"),
        "setitem_of_list": pickled(b"]NNs"),
        "setitems_odd": pickled(b"}(Nu"),
        "long4_2_gib": pickled(b"\x8b" + struct.pack("<i", 2**31 - 1)),
        "long4_negative": pickled(b"\x8b" + struct.pack("<i", -1)),
        "long1_short": b"\x80\x02\x8a\xff\x01.",
        "text_4_gib": pickled(b"X" + struct.pack("<I", 2**32 - 1)),
        "text8_huge": pickled(b"\x8d" + struct.pack("<Q", 2**63)),
        "bytes8_huge": pickled(b"\x8e" + struct.pack("<Q", 2**64 - 1)),
        "bytearray8_huge": pickled(b"\x96" + struct.pack("<Q", 2**40)),
        "text_no_utf8": pickled(b"X" + struct.pack("<I", 2) + b"\xff\xfe"),
        "int_no_number": pickled(b"Ixyz\n"),
        "int_without_end": b"\x80\x02I" + b"1" * 100_000,
        "extension": pickled(b"\x82\x01"),
        "next_buffer": pickled(b"\x97"),
        "stack_global_of_numbers": pickled(b"K\x01K\x02\x93"),
    }
    for name, pickle in refused.items():
        write(f"pickle_{name}.pt", archive(records(pickle=pickle))[0])

    calls = {
        "reduce_system": b"cposix\nsystem\n(" + text("touch /tmp/plimsoll-hostile") + b"tR",
        "reduce_os_system": b"cos\nsystem\n(" + text("touch /tmp/plimsoll-hostile") + b"tR",
        "reduce_eval": b"cbuiltins\neval\n(" + text("exit(3)") + b"tR",
        "reduce_exec": b"c__builtin__\nexec\n(" + text("exit(3)") + b"tR",
        "stack_global_system": text("os") + text("system") + b"\x93(" + text("true") + b"tR",
        "inst": b"(" + text("true") + b"ios\nsystem\n",
        "obj": b"(cos\nsystem\n" + text("true") + b"o",
        "newobj": b"csubprocess\nPopen\n(" + text("true") + b"t\x81",
        "newobj_ex": b"csubprocess\nPopen\n(" + text("true") + b"t}\x92",
        "build": b"cos\nsystem\n)R}" + text("__setstate__") + b"cos\nsystem\nsb",
        "import_alone": b"cos\nsystem\n",
        "getattr": b"cbuiltins\ngetattr\n(cos\n__dict__\n" + text("system") + b"tR",
        "torch_load": b"ctorch\nload\n(" + text("/etc/passwd") + b"tR",
        "runpy": b"crunpy\n_run_code\n(" + text("exit(3)") + b"}tR",
        "pty": b"cpty\nspawn\n(" + text("/bin/true") + b"tR",
        "socket": b"csocket\nsocket\n)R",
        "pickle_loads": b"cpickle\nloads\n(C\x01.tR",
        "hidden_in_rebuild": tensor(tail=b"cos\nsystem\n(" + text("true") + b"tR"),
    }
    for name, body in calls.items():
        # Nothing is ever called. A reader may refuse such a file or read its values as opaque.
        write(f"call_{name}.pt", file(body), "harmless")

    deep = 1_000_000
    doubled = lambda opcode: b"]" + (b"2" + opcode) * 64
    odd = {
        "frame_huge": pickled(b"\x95" + struct.pack("<Q", 2**63) + b"]", 4),
        "memo_index_largest": pickled(b"]r\xff\xff\xff\xff0j\xff\xff\xff\xff"),
        "many_puts": pickled(b"]" + b"".join(b"r" + struct.pack("<I", i * 4001 % 2**32) for i in range(300_000))),
        "many_memoize": pickled(b"]" + b"\x94" * 2_000_000, 4),
        "deep_lists": pickled(b"]" * deep + b"a" * (deep - 1)),
        "deep_tuples": pickled(b")" + b"\x85" * deep),
        "deep_dicts": pickled(b"}" + (b"K\x01}" * deep) + b"s" * deep),
        "deep_marks": pickled(b"(" * deep + b"t" * deep),
        "deep_parameters": pickled(b"ctorch._utils\n_rebuild_parameter\nq\0" + b"h\0" * 50_000 + tensor() + b"\x88N\x87R" * 50_000),
        "doubling_tuples": pickled(b")" + b"2\x86" * 60_000),
        "doubling_lists": pickled(doubled(b"\x86")),
        "doubling_by_memo": pickled(b"]q\0" + b"".join(b"](h\0h\0eq\0" for _ in range(60_000))),
        "self_in_tuple": pickled(b"]q\0h\0h\0\x86a"),
        "self_as_state": pickled(b"cvendor\nA\n)\x81q\0h\0b"),
        "self_as_key": pickled(b"}q\0(h\0\x85K\x01u"),
        "alias_flood": pickled(b"]" * 20_000 + b"q\0" + b"(" + b"h\0" * 500_000 + b"e" + b"a" * 19_999),
        "aliases_of_each": pickled(each_level(10_000)),
        "dup_flood": pickled(b"](" + b"N" + b"2" * 3_000_000 + b"e"),
        "long_keys": pickled(b"}" + b"".join(text("k" * 1000) + b"}" for _ in range(2000)) + b"s" * 2000),
        "huge_dict": pickled(b"}(" + b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(500_000)) + b"u"),
        "huge_number": pickled(b"\x8b" + struct.pack("<i", 3_000_000) + b"\x7f" * 3_000_000),
        "huge_decimal": pickled(b"L" + b"7" * 3_000_000 + b"L\n"),
        "many_numbers": pickled(b"](" + (b"\x8b" + struct.pack("<i", 4000) + b"\x7f" * 4000) * 500 + b"e"),
        "many_tensors": pickled(b"](" + tensor() * 30_000 + b"e"),
        "many_same_metadata": pickled(b"](" + tensor() + (b"2" * 200_000) + b"e"),
        "expanded_2_to_60": pickled(tensor((2**30, 2**28), (0, 0))),
        "text_of_ends": pickled(text(END * 5000)),
        "set_of_itself": pickled(b"\x8fq\0(h\0\x90", 4),
        "codecs_of_large": pickled(b"](" + (b"c_codecs\nencode\n(" + text("\u00e9" * 50_000) + text("latin1") + b"tR") * 20 + b"e"),
        "pop_everything": pickled(b"N" * 1_000_000 + b"0" * 999_999),
    }
    for name, pickle in odd.items():
        write(f"pickle_{name}.pt", archive(records(pickle=pickle))[0], "harmless")
    # Python could not have built these.
    impossible = {
        "item_set_on_a_tensor": pickled(tensor() + b"K\x00K\x01s"),
        "items_added_to_a_tensor": pickled(tensor() + b"(K\x01e"),
        "list_as_key": pickled(b"}]K\x01s"),
        "dict_in_a_tuple_as_key": pickled(b"}(}\x85K\x01u"),
        "list_in_a_set": pickled(b"\x8f(]\x90", 4),
    }
    for name, pickle in impossible.items():
        write(f"impossible_{name}.pt", archive(records(pickle=pickle))[0])


def each_level(depth):
    """Nested lists, of which the innermost is referenced many times."""
    body = b"".join(b"]" + b"r" + struct.pack("<I", i) for i in range(depth))
    return body + b"(" + b"".join(b"j" + struct.pack("<I", i % depth) for i in range(300_000)) + b"e" + b"a" * (depth - 1)


def entries():
    """Captures of a call, whose values become a tree of arguments."""

    def entry(name, value):
        fields = text("function_name") + text("f") + text("args") + b"(" + value + b"t"
        fields += text("kwargs") + b"}" + text("output") + b"N"
        write(f"entry_{name}.pt", archive(records(pickle=pickled(b"}(" + fields + b"u")))[0], "harmless")

    entry("good", tensor())
    wide = tensor((1,) * 2000, (1,) * 2000)
    entry("many_dimensions", wide + b"2" * 1_000_000)
    entry("many_tensors", tensor() + b"2" * 1_000_000)
    entry("doubling_tuples", b")" + b"2\x86" * 900)
    entry("doubling_triples", b")" + b"22\x87" * 900)
    put, get = (lambda i: b"r" + struct.pack("<I", i)), (lambda i: b"j" + struct.pack("<I", i))
    entry("doubling_dicts", b"}" + b"".join(put(i) + b"}(K\x01" + get(i) + b"K\x02" + get(i) + b"u" for i in range(300)))
    entry("many_singles", b"]" + b"K\x01\x85" + b"2" * 500_000)
    entry("long_texts", text("x" * 1_000_000) + b"2" * 100_000)
    entry("large_numbers", b"\x8b" + struct.pack("<i", 100_000) + b"\x7f" * 100_000 + b"2" * 100_000)
    entry("long_class", b"c" + b"m" * 100_000 + b"\nname\n" + b"2" * 500_000)
    fields = text("function_name") + text("f" * 50_000_000) + text("args") + b")" + text("kwargs") + b"}" + text("output") + b"N"
    write("entry_long_function_name.pt", archive(records(pickle=pickled(b"}(" + fields + b"u")))[0], "harmless")
    entry("cycle", b"]q\0h\0a")
    entry("deep", b"]" * 100_000 + b"a" * 99_999)


def legacy():
    magic = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
    protocol, info = pickled(b"M\xe9\x03"), pickled(b"}")
    old = lambda **how: tensor(**how).replace(b"tQ", b"NtQ", 1)
    keys = pickled(b"]" + text("0") + b"a")
    count = lambda n: struct.pack("<q", n)
    good = magic + protocol + info + pickled(old()) + keys + count(6) + FLOATS
    write("legacy_good.pt", good, "harmless")
    cuts = [len(magic), len(magic + protocol), len(magic + protocol + info), len(good) - 24, len(good) - 32, len(good) - 1]
    for at in cuts + [len(good) - 32 - len(keys), 5, 40]:
        if f"legacy_truncated_{at:03}.pt" not in EXPECTED:
            write(f"legacy_truncated_{at:03}.pt", good[:at])
    head = magic + protocol + info
    body = lambda value=None, keys=keys, data=count(6) + FLOATS: head + pickled(old() if value is None else value) + keys + data
    write("legacy_protocol.pt", magic + pickled(b"M\xea\x03") + good[len(magic + protocol) :])
    write("legacy_magic.pt", pickled(b"\x8a\x0a" + b"\x11" * 10) + good[len(magic) :])
    write("legacy_count_negative.pt", body(data=count(-1) + FLOATS))
    write("legacy_count_huge.pt", body(data=count(2**62) + FLOATS))
    write("legacy_count_short.pt", body(data=count(3) + FLOATS))
    write("legacy_key_twice.pt", body(keys=pickled(b"](" + text("0") * 2 + b"e"), data=(count(6) + FLOATS) * 2))
    write("legacy_key_unknown.pt", body(keys=pickled(b"](" + text("0") + text("9") + b"e")))
    write("legacy_key_missing.pt", body(keys=pickled(b"]"), data=b""))
    write("legacy_keys_no_list.pt", body(keys=pickled(b"}")))
    write("legacy_keys_of_lists.pt", body(keys=pickled(b"]]a")))
    write("legacy_many_keys.pt", body(keys=pickled(b"](" + text("0") * 500_000 + b"e")))
    view = tensor().replace(b"tQ", text("1") + integer(4) + integer(9) + b"\x87tQ", 1)
    write("legacy_view_outside.pt", body(view))
    view = tensor().replace(b"tQ", text("1") + integer(-4) + integer(2) + b"\x87tQ", 1)
    write("legacy_view_negative.pt", body(view))


def tars():
    def build(**members):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return out.getvalue()

    info, pid = pickled(b"}"), b"P7\n."
    one = lambda n: pickled(integer(n))
    spec = pickled(b"(K\x64" + text("cpu") + b"ctorch\nFloatStorage\nt")
    storages = one(1) + spec + struct.pack("<q", 6) + FLOATS + pickled(b"]")
    known = pickled(b"(K\x07K\x64ctorch\nFloatTensor\nt")
    dims = lambda *shape: struct.pack("<ii", len(shape), 0) + struct.pack(f"<{2 * len(shape)}q", *shape, *([1] * len(shape)))
    tensors = one(1) + known + dims(6) + struct.pack("<q", 0)
    whole = {"sys_info": info, "pickle": pid, "storages": storages, "tensors": tensors}
    good = build(**whole)
    write("tar_good.pt", good, "harmless")
    for at in [512, 600, 1024, 1600, 2048, 2100, 2600, 3000]:
        write(f"tar_truncated_{at}.pt", good[:at])
    write("tar_empty.pt", build(sys_info=info))
    variants = {
        "no_storages": whole | {"storages": b""},
        "no_pickle": {k: v for k, v in whole.items() if k != "pickle"},
        "count_huge": whole | {"storages": one(2**62) + storages[len(one(1)) :]},
        "count_negative": whole | {"tensors": one(-1)},
        "storage_huge": whole | {"storages": one(1) + spec + struct.pack("<q", 2**61) + FLOATS},
        "storage_negative": whole | {"storages": one(1) + spec + struct.pack("<q", -6) + FLOATS},
        "dimensions_huge": whole | {"tensors": one(1) + known + struct.pack("<ii", 2**31 - 1, 0)},
        "dimensions_negative": whole | {"tensors": one(1) + known + struct.pack("<ii", -1, 0)},
        "outside": whole | {"tensors": one(1) + known + dims(7) + struct.pack("<q", 0)},
        "offset_negative": whole | {"tensors": one(1) + known + dims(6) + struct.pack("<q", -1)},
        "tensor_missing": whole | {"pickle": b"P8\n."},
        "view_of_nothing": whole | {"storages": storages[: -len(pickled(b"]"))] + pickled(b"](K\x65K\x09K\x00K\x02tae")},
    }
    for name, members in variants.items():
        write(f"tar_{name}.pt", build(**members))
    broken = bytearray(good)
    broken[124:136] = b"77777777777 "
    broken[148:156] = b"        "
    broken[148:156] = b"%06o\0 " % sum(broken[:512])
    write("tar_size_huge.pt", bytes(broken))


def main():
    global FOLDER
    FOLDER = pathlib.Path(sys.argv[1])
    FOLDER.mkdir(parents=True, exist_ok=True)
    write("good.pt", file(), "harmless")
    for part in [no_archives, truncations, damaged_archives, bombs, layouts, pickles, entries, legacy, tars]:
        part()
    (FOLDER / "expected.json").write_text(json.dumps(EXPECTED, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
