"""Writing to a store: `docs/store-format.md`, like `plimsoll pack`."""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import torch

try:
    from blake3 import blake3
except ImportError as error:
    raise ImportError("the objects of a store are named by their BLAKE3 digest: pip install blake3") from error

from .layout import Layout, NotSaved, checksum, is_known
from .storages import BLOCK, Remembered, Source

__all__ = ["NotSaved", "Store", "StoreError"]

FORMAT = {"format": "plimsoll.store/1"}
PARTS = {"captures", "lock", "objects", "tmp"}
ENTRY = re.compile(r"entry_(\d{6,})\.pt")
# The size of a write: the page cache keeps a file written in runs of 2 MiB in huge pages, and a few rows of it would
# count as the whole.
RUN = 512 << 10
# Smaller payloads share one object: each would take a file-system block as a file of its own.
POOLED = 4096
# The size of a batch that becomes durable together. A crash loses everything saved since.
BATCH_ENTRIES, BATCH_BYTES = 64, 1 << 30


class StoreError(Exception):
    """What is wrong with a store, where, and what to do."""


class Changed(Exception):
    """The bytes of a storage differ from what was assumed."""


class Store:
    """A store that entries are saved to, by one thread at a time; `plimsoll store gc` waits until it is closed.

    Saved entries are in the store after `commit`, which runs by itself every 64 entries or GiB of new objects, and at
    the end.
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.entries = self.entry_bytes = self.added_bytes = 0
        self._block, self._remembered = bytearray(BLOCK), Remembered()
        # The next number of captures. Objects by digest: their file and size. Entries: capture, number, recipe.
        self._numbers, self._staged, self._pending, self._folders = {}, {}, [], set()
        with store_errors(self.path):
            make(self.path)
            self._lock = open(self._place("lock"), "ab")
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            self._folder = tempfile.mkdtemp(prefix="capture-", dir=self._place("tmp"))
            if not is_known(self._folder):
                self.close()
                raise StoreError(f"torch {torch.__version__} writes files in a way that is not known here: "
                                 "write them with torch.save, and pack them with `plimsoll pack`")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self.commit()
        finally:
            self.close()

    def close(self):
        """Releases what it holds. Uncommitted entries are lost."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()

    def save(self, entry, capture, sources=None):
        """Saves the file that torch.save would write for `entry`, under the next number of `capture`; returns its name.

        `sources` gives the location of storages whose bytes are not in their memory, by the storage's `_cdata`.
        """
        number = self._next_number(capture)
        name, before = f"entry_{number:06d}.pt", len(self._staged)
        with store_errors(self.path):
            try:
                recipe, objects, size = self._take(entry, name, sources or {})
            except BaseException:
                for id in list(self._staged)[before:]:
                    os.remove(self._staged.pop(id)[0])
                raise
            self._folders.update(os.path.dirname(self._object(id)) for id in objects)
            self._pending.append((capture, number, recipe))
            self._numbers[capture] = number + 1
            self.entries, self.entry_bytes = self.entries + 1, self.entry_bytes + size
            new = sum(size for _, size in self._staged.values())
            if len(self._pending) >= BATCH_ENTRIES or new >= BATCH_BYTES:
                self.commit()
        return name

    def commit(self):
        """Makes saved entries durable: objects, their names, references, their names."""
        staged, pending, folders = self._staged, self._pending, self._folders
        self._staged, self._pending, self._folders = {}, [], set()
        with store_errors(self.path), ThreadPoolExecutor(8) as threads:
            list(threads.map(sync, [path for path, _ in staged.values()]))
            for id, (path, size) in staged.items():
                self._name(path, id, size)
            list(threads.map(sync, sorted(folders)))
            if pending:
                sync(self._place("objects"))
            references = list(threads.map(self._reference, [recipe for _, _, recipe in pending]))
            captures = set()
            for (capture, number, _), reference in zip(pending, references):
                captures.add(self._place("captures", capture))
                os.makedirs(self._place("captures", capture), exist_ok=True)
                while not link(reference, self._place("captures", capture, f"entry_{number:06d}.pt")):
                    # Another writer took the number.
                    number = self._numbers[capture] = max(number + 1, self._numbers[capture])
                    self._numbers[capture] += 1
            list(threads.map(sync, sorted(captures)))
            if captures:
                sync(self._place("captures"))

    def _take(self, entry, name, sources):
        """The recipe of an entry, the objects that it needs, and the size of the file."""
        for _ in range(3):
            try:
                return self._take_once(entry, name, sources)
            except Changed:
                continue
        raise NotSaved("a tensor is being written to")

    def _take_once(self, entry, name, sources):
        layout = Layout(entry, self._folder, name)
        # By one thread: torch leaves little of the processors to others, and threads would wait for each other.
        file, done, places, pool = blake3(), 0, [], bytearray()
        for payload in layout.payloads:
            at = layout.at(payload.data)
            file.update(layout.verbatim[done:at])
            done = at
            source = sources.get(payload.storage._cdata) or Source(payload.storage)
            if payload.bytes < POOLED:
                (content,) = source.blocks(self._block)
                file.update(content)
                found, head = checksum(content), bytes(content[:8])
                pool += bytes(-len(pool) % min(payload.data & -payload.data, 4096))
                places.append((None, len(pool)))
                pool += content
            else:
                id, found, head = self._keep_storage(source, file)
                places.append((id, 0))
            layout.put_checksum(payload, found, head)
        layout.put_serialization_id()
        file.update(layout.verbatim[done:])

        pooled = self._keep(bytes(pool)) if pool else None
        whole = {"bytes": layout.bytes, "blake3": file.hexdigest()}
        payloads = [{"key": payload.name.rpartition("/")[2], "offset": payload.data, "bytes": payload.bytes}
                    for payload in layout.payloads]
        # As `plimsoll pack` writes it, so that both write the same skeleton of a file.
        header = as_json({"format": "plimsoll.skeleton/1", **whole, "payloads": payloads})
        skeleton = self._keep(len(header).to_bytes(8, "little") + header + layout.verbatim)
        placed = [{**payload, "object": id or pooled, "at": at} for payload, (id, at) in zip(payloads, places)]
        recipe = self._keep(as_json({"format": "plimsoll.recipe/1", **whole, "modified": divmod(time.time_ns(), 10**9),
                                     "skeleton": skeleton, "payloads": placed}) + b"\n")
        return recipe, {recipe, skeleton, *(payload["object"] for payload in placed)}, layout.bytes

    def _keep_storage(self, source, file):
        """Stores a storage as an object and adds its bytes to the digest `file`; returns its digest, CRC-32 and
        head."""
        # Reading it twice costs less than writing gigabytes that the store already has.
        expected = self._remembered.guess(source) or self._read(source)[0]
        found = self._remembered.checksums.get(expected)
        with self._new_file(not self._has(expected, source.bytes)) as out:
            id, computed, head = self._read(source, file, out, found is None)
        if id != expected:
            self._remembered.forget(source)
            if out:
                os.remove(out.name)
            raise Changed
        if out:
            self._stage(out.name, id, source.bytes)
        found = computed if found is None else found
        self._remembered.add(source, id, found)
        return id, found, head

    def _read(self, source, file=None, out=None, with_checksum=False):
        """The digest of a storage, its CRC-32 if requested, and its first bytes."""
        digest, found, head = blake3(), 0, b""
        for piece in source.blocks(self._block):
            head = head or bytes(piece[:8])
            digest.update(piece)
            if file:
                file.update(piece)
            if with_checksum:
                found = checksum(piece, found)
            if out:
                write(out, piece)
        return digest.hexdigest(), found, head

    def _keep(self, content):
        """Stores bytes as an object; returns its digest."""
        id = blake3(content).hexdigest()
        with self._new_file(not self._has(id, len(content))) as out:
            if out:
                write(out, content)
                self._stage(out.name, id, len(content))
        return id

    def _stage(self, path, id, size):
        self._staged[id] = path, size
        self.added_bytes += size

    def _has(self, id, size):
        """Whether the store has the object. An object of the wrong size is damaged, and does not count."""
        if id in self._staged:
            return True
        try:
            return os.stat(self._object(id)).st_size == size
        except FileNotFoundError:
            return os.path.exists(self._object(id) + ".zst")

    def _name(self, path, id, size):
        """Gives an object its name. An existing object with that name is equal, and stays."""
        final = self._object(id)
        os.makedirs(os.path.dirname(final), exist_ok=True)
        if not link(path, final) and os.stat(final).st_size != size:
            os.replace(path, final)

    def _reference(self, recipe):
        with self._new_file() as out:
            write(out, f"plimsoll.recipe/1 {recipe}\n".encode())
        sync(out.name)
        return out.name

    def _new_file(self, wanted=True):
        if not wanted:
            return contextlib.nullcontext()
        descriptor, path = tempfile.mkstemp(dir=self._folder)
        os.close(descriptor)
        file = open(path, "wb", buffering=0)
        os.chmod(path, 0o444)
        return file

    def _next_number(self, capture):
        if capture not in self._numbers:
            if capture in ("", ".", "..") or len(capture.encode()) > 200 or any(c == "/" or c < " " for c in capture):
                raise StoreError(f"{capture!r} cannot be the name of a capture: no folder has it")
            with contextlib.suppress(FileNotFoundError):
                found = map(ENTRY.fullmatch, os.listdir(self._place("captures", capture)))
                self._numbers[capture] = max((int(entry[1]) + 1 for entry in found if entry), default=0)
        return self._numbers.setdefault(capture, 0)

    def _place(self, *names):
        return os.path.join(self.path, *names)

    def _object(self, id):
        return self._place("objects", id[:2], id)


@contextlib.contextmanager
def store_errors(path):
    """Converts errors of the system to errors of the store at `path`."""
    try:
        yield
    except OSError as error:
        where, what = error.filename or path, error.strerror or error
        raise StoreError(f"{where}: {what}; what was committed before is whole, the rest is not in the store") from error


def make(path):
    """Creates a store if there is none."""
    marker = os.path.join(path, "plimsoll-store.json")
    if not os.path.exists(marker):
        os.makedirs(path, exist_ok=True)
        if not PARTS.issuperset(os.listdir(path)) and not os.path.exists(marker):
            raise StoreError(f"{path}: it holds other things and is no store: name an empty folder, or one to be made")
        for name in PARTS - {"lock"}:
            os.makedirs(os.path.join(path, name), exist_ok=True)
        open(os.path.join(path, "lock"), "ab").close()
        with tempfile.NamedTemporaryFile(dir=os.path.join(path, "tmp"), delete=False) as file:
            file.write(json.dumps(FORMAT).encode() + b"\n")
        sync(file.name)
        os.chmod(file.name, 0o644)
        os.replace(file.name, marker)
        sync(path)
    with open(marker, "rb") as file:
        try:
            found = json.load(file)
        except ValueError:
            found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT["format"]:
        raise StoreError(f"{marker}: this is no {FORMAT['format']}, which is what can be written here")


def as_json(value):
    return json.dumps(value, separators=(",", ":")).encode()


def write(file, content):
    view = memoryview(content)
    for start in range(0, len(view), RUN):
        left = view[start:start + RUN]
        while left:
            left = left[file.write(left):]


def link(path, final):
    """Gives a file its name unless that is taken; returns whether it was free."""
    try:
        os.link(path, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP):
            raise
        # A file system without links.
        if os.path.exists(final):
            return False
        os.rename(path, final)
        return True
    os.remove(path)
    return True


def sync(path):
    """Syncs a file, or the names in a folder, to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
