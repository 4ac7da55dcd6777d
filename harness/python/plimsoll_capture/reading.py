"""Reading a store: `docs/store-format.md`. Tensors use the objects of the store in place, mapped rather than copied."""

import io
import json
import os
import re
import zipfile

import torch
from blake3 import blake3
from torch import _weights_only_unpickler as restricted

from .store import FORMAT, StoreError

REFERENCE = re.compile(rb"plimsoll\.recipe/1 ([0-9a-f]{64})\n")


def load(store, entry):
    """Loads an entry as `torch.load(.., weights_only=True)` would load its file. Writing to a tensor changes no file.

    `entry` is CAPTURE/ENTRY, or ENTRY if only one capture has it: "torch_nn_functional_linear/entry_000000.pt".
    """
    store = os.path.abspath(store)
    try:
        recipe = _recipe(store, _reference(store, os.fspath(entry)))
        return _load(store, recipe, entry)
    except OSError as error:
        raise StoreError(f"{store}: {entry} cannot be read: {error}") from error


def _reference(store, entry):
    """The file that refers to the recipe."""
    with open(os.path.join(store, "plimsoll-store.json"), encoding="utf-8") as file:
        if json.load(file) != FORMAT:
            raise StoreError(f"{store}: a store of another format than {FORMAT['format']}")
    captures = os.path.join(store, "captures")
    parts = entry.split("/")
    if not 1 <= len(parts) <= 2 or any(part in ("", ".", "..") for part in parts):
        raise StoreError(f"{store}: `{entry}` is no entry: write CAPTURE/ENTRY")
    if len(parts) == 2:
        return os.path.join(captures, *parts)
    found = [name for name in sorted(os.listdir(captures)) if os.path.isfile(os.path.join(captures, name, entry))]
    if len(found) != 1:
        of = f"the captures {', '.join(found)} have it" if found else "no capture has it"
        raise StoreError(f"{store}: {entry}: {of}; write CAPTURE/ENTRY, such as {_example(captures)}")
    return os.path.join(captures, found[0], entry)


def _example(captures):
    """The first entry of the first capture, as it is written."""
    entries = (f"{name}/{entry}" for name in sorted(os.listdir(captures))
               for entry in sorted(os.listdir(os.path.join(captures, name)))[:1])
    return next(entries, "torch_nn_functional_linear/entry_000000.pt")


def _recipe(store, reference):
    with _opened(reference) as file:
        found = REFERENCE.fullmatch(file.read(84))
    if not found:
        raise StoreError(f"{reference}: not a reference to a recipe; `plimsoll verify` says what is damaged")
    return json.loads(_checked(store, found[1].decode()))


def _opened(path):
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _place(store, id):
    return os.path.join(store, "objects", id[:2], id)


def _checked(store, id):
    """The bytes of an object that is JSON or a skeleton, checked against the digest in its name."""
    with _opened(_place(store, id)) as file:
        content = file.read()
    if blake3(content).hexdigest() != id:
        raise StoreError(f"{_place(store, id)}: damaged: its bytes are not those of its name")
    return content


def _load(store, recipe, entry):
    skeleton = _checked(store, recipe["skeleton"])
    verbatim = skeleton[8 + int.from_bytes(skeleton[:8], "little"):]
    payloads = {payload["key"]: payload for payload in recipe["payloads"]}
    file = io.BufferedReader(_File(store, recipe, verbatim))
    if not zipfile.is_zipfile(file):
        file.seek(0)
        return torch.load(file, weights_only=True)
    archive = zipfile.ZipFile(file)
    (pickled,) = [name for name in archive.namelist() if name.endswith("/data.pkl") and name.count("/") == 1]
    folder = pickled[:-len("data.pkl")]
    if folder + "byteorder" in archive.namelist() and archive.read(folder + "byteorder") != b"little":
        raise StoreError(f"{store}: {entry}: big-endian; unpack it with `plimsoll unpack`")
    storages = {}

    def storage(saved):
        kind, of, key, _, count = saved
        if kind != "storage":
            raise StoreError(f"{store}: {entry}: it refers to a {kind}, which is no storage")
        dtype = torch.uint8 if of is torch.UntypedStorage else of.dtype
        size = count * dtype.itemsize
        if key not in storages:
            storages[key] = _storage(store, payloads.get(key), size, lambda: archive.read(f"{folder}data/{key}"))
        return torch.storage.TypedStorage(wrap_storage=storages[key], dtype=dtype, _internal=True)

    unpickler = restricted.Unpickler(io.BytesIO(archive.read(pickled)))
    unpickler.persistent_load = storage
    return unpickler.load()


def _storage(store, payload, size, record):
    """A storage of `size` bytes: mapped if it is an object of its own."""
    if payload is None:
        # Empty, or deflated in the file itself.
        return _copied(record() if size else b"", size)
    path = _place(store, payload["object"])
    if payload["at"] == 0 and payload["bytes"] >= size and os.path.isfile(path) and not os.path.islink(path):
        return torch.UntypedStorage.from_file(path, False, size) if size else torch.UntypedStorage(0)
    return _copied(_part(store, payload, 0, size), size)


def _copied(content, size):
    if len(content) < size:
        raise StoreError(f"a storage of {size} bytes has {len(content)} in the store")
    return torch.frombuffer(bytearray(content[:size]), dtype=torch.uint8).untyped_storage() if size else torch.UntypedStorage(0)


def _part(store, payload, start, size):
    """Some bytes of a payload."""
    path = _place(store, payload["object"])
    try:
        with _opened(path) as file:
            return os.pread(file.fileno(), size, payload["at"] + start)
    except FileNotFoundError:
        pass
    with _opened(path + ".zst") as file:
        content = _decompressed(file.read(), path)
    return content[payload["at"] + start:][:size]


def _decompressed(content, path):
    for name in ("compression.zstd", "zstandard"):
        try:
            module = __import__(name, fromlist=["decompress"])
        except ImportError:
            continue
        return module.decompress(content)
    raise StoreError(f"{path}.zst: compressed: pip install zstandard, or unpack the entry with `plimsoll unpack`")


class _File(io.RawIOBase):
    """The file of an entry, assembled from its skeleton and objects as it is read."""

    def __init__(self, store, recipe, verbatim):
        self.store, self.verbatim, self.size, self.at = store, verbatim, recipe["bytes"], 0
        self.pieces, taken, done = [], 0, 0
        for payload in recipe["payloads"]:
            self.pieces.append((done, payload["offset"] - done, taken, None))
            taken += payload["offset"] - done
            self.pieces.append((payload["offset"], payload["bytes"], 0, payload))
            done = payload["offset"] + payload["bytes"]
        self.pieces.append((done, self.size - done, taken, None))

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=os.SEEK_SET):
        self.at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence])
        return self.at

    def readinto(self, buffer):
        for start, length, taken, payload in self.pieces:
            if start <= self.at < start + length:
                within = self.at - start
                size = min(len(buffer), length - within)
                content = (self.verbatim[taken + within:][:size] if payload is None
                           else _part(self.store, payload, within, size))
                buffer[:len(content)] = content
                self.at += len(content)
                return len(content)
        return 0
