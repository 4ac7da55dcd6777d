"""The file that torch.save would write, without the bytes of its storages.

torch itself lays out the file and leaves room for the storages (`torch.serialization.skip_data`). It cannot know their
CRC-32s, which are behind each record and in the directory, nor the serialization id, which depends on all CRC-32s:
these are filled in once the storages have been read.
"""

import contextlib
import os
import pickle
import struct
import types
import zipfile
import zlib

import torch
from torch.serialization import get_crc32_options

DESCRIPTOR = b"PK\x07\x08"
# The messages with which torch.save says that it cannot save something.
REFUSALS = ("view the same data as different types", "under skip_data")


class NotSaved(Exception):
    """Why an entry cannot be saved. The store is unchanged."""


class Record:
    """A record of the archive, with the offsets of its bytes and of its checksum in the directory."""

    def __init__(self, info, data, checksum_at):
        self.name, self.bytes, self.checksum = info.filename, info.file_size, info.CRC
        self.data, self.checksum_at = data, checksum_at
        self.storage = None
        self.head = b""


class Layout:
    """Everything in the file except its storages. `payloads` are the records with storages, in the order of the
    file."""

    def __init__(self, entry, folder, name):
        path, storages = os.path.join(folder, name), {}
        try:
            with torch.serialization.skip_data():
                torch.save(entry, path, pickle_module=recording_pickle(storages))
            with open(path, "rb") as file:
                self._read(file, storages)
        except (pickle.PicklingError, AttributeError, TypeError, NotImplementedError) as error:
            raise NotSaved(f"it cannot be pickled: {error}") from error
        except RuntimeError as error:
            if any(reason in str(error) for reason in REFUSALS):
                raise NotSaved(str(error)) from error
            # The disk is full, or a similar error.
            raise OSError(f"torch.save: {error}") from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def _read(self, file, storages):
        with zipfile.ZipFile(file) as archive:
            infos, directory = archive.infolist(), archive.start_dir
        read = lambda count, at: os.pread(file.fileno(), count, at)
        self.bytes = os.fstat(file.fileno()).st_size
        self.records = []
        for info in infos:
            lengths = struct.unpack("<2H", read(4, info.header_offset + 26))
            record = Record(info, info.header_offset + 30 + sum(lengths), directory + 16)
            directory += 46 + sum(struct.unpack("<3H", read(6, directory + 28)))
            _, is_data, key = record.name.partition("/data/")
            record.storage = storages.get(key) if is_data and record.bytes else None
            self.records.append(record)
        # torch writes one record after the other.
        self.payloads = [record for record in self.records if record.storage is not None]
        parts, end = [], 0
        for start, count in [(payload.data, payload.bytes) for payload in self.payloads] + [(self.bytes, 0)]:
            parts.append(read(start - end, end))
            end = start + count
        self.verbatim = bytearray(b"".join(parts))

    def at(self, offset):
        """The position of byte `offset` of the file among the verbatim bytes."""
        return offset - sum(payload.bytes for payload in self.payloads if payload.data < offset)

    def put(self, offset, content):
        at = self.at(offset)
        self.verbatim[at:at + len(content)] = content

    def put_checksum(self, record, checksum, head):
        """Writes the CRC-32 of a record behind it and into the directory. `head` is its first eight bytes."""
        record.checksum, record.head = checksum, head
        self.put(record.data + record.bytes + 4, struct.pack("<I", checksum))
        self.put(record.checksum_at, struct.pack("<I", checksum))

    def put_serialization_id(self):
        """Writes the id once all checksums are known: twenty digits for the names of the records, twenty for their
        CRC-32s."""
        combined = 0
        for record in self.records:
            if record.name.endswith("/.data/serialization_id"):
                at = self.at(record.data)
                text = bytes(self.verbatim[at:at + 20]) + b"%020d" % combined
                self.put(record.data, text)
                self.put_checksum(record, checksum(text), text[:8])
            elif record.bytes:
                if record.head[:4] == DESCRIPTOR and len(record.head) == 8:
                    # torch mistakes such a payload for the descriptor behind one.
                    combined = combine(combined, struct.unpack("<I", record.head[4:])[0])
                combined = combine(combined, record.checksum)


def combine(seed, value):
    """`c10::hash_combine`."""
    return (seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & (2**64 - 1)


def checksum(content, before=0):
    """The CRC-32 as torch writes it: 0 if torch is configured not to compute it."""
    return zlib.crc32(content, before) if get_crc32_options() else 0


def recording_pickle(storages):
    """`pickle` with a Pickler that records which storage gets which key."""

    class Pickler(pickle.Pickler):
        def __init_subclass__(cls):
            named = cls.persistent_id

            def persistent_id(self, obj):
                name = named(self, obj)
                if name is not None:
                    storages[name[2]] = getattr(obj, "_untyped_storage", obj)
                return name

            cls.persistent_id = persistent_id

    module = types.ModuleType("pickle")
    module.__dict__.update(vars(pickle), Pickler=Pickler)
    return module


def is_known(folder):
    """Whether this torch writes files like the version that this was written for, tested with a small one."""
    name = "entry_000000.pt"
    path = os.path.join(folder, name)
    sample = {"first": torch.arange(40, device="cpu"), "empty": torch.empty(0, device="cpu")}
    torch.save(sample, path)
    with open(path, "rb") as file:
        expected = file.read()
    try:
        layout = Layout(sample, folder, name)
        (payload,) = layout.payloads
        content = bytes(payload.storage.tolist())
        layout.put_checksum(payload, checksum(content), content[:8])
        layout.put_serialization_id()
    except (AttributeError, NotSaved, ValueError, zipfile.BadZipFile):
        return False
    at = layout.at(payload.data)
    return bytes(layout.verbatim[:at]) + content + bytes(layout.verbatim[at:]) == expected
