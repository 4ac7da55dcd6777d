"""The bytes of storages in blocks, wherever they are, and a memory of earlier ones."""

import ctypes
from collections import OrderedDict

import torch

# The maximum part of a storage in memory at a time.
BLOCK = 8 << 20
# The number of storages remembered.
REMEMBERED = 1 << 14


class Source:
    """`bytes` bytes of a storage, from byte `start` on."""

    def __init__(self, storage, start=0, bytes=None):
        self.bytes = storage.nbytes() - start if bytes is None else bytes
        self.identity = str(storage.device), storage.data_ptr() + start, self.bytes
        self.flat = torch.empty(0, dtype=torch.uint8, device=storage.device)
        self.flat.set_(storage, start, (self.bytes,), (1,))

    def blocks(self, block):
        """The bytes, block by block, copied into `block`, so that what is hashed is what is written even if something
        else writes to the storage meanwhile."""
        room = torch.frombuffer(block, dtype=torch.uint8)
        for start in range(0, self.bytes, BLOCK):
            count = min(BLOCK, self.bytes - start)
            if self.flat.device.type == "cpu":
                # torch's own copy waits for all of its threads, which other work may delay.
                ctypes.memmove(room.data_ptr(), self.flat.data_ptr() + start, count)
            else:
                room[:count].copy_(self.flat[start:start + count])
            yield memoryview(block)[:count]

    def ends(self):
        """The beginning and the end of the bytes."""
        return b"".join(bytes(part.cpu().tolist()) for part in (self.flat[:512], self.flat[-512:]))


class Remembered:
    """Facts about the latest storages and objects.

    Matching a storage with an object is a guess: memory is reused, and is written to in ways that no version counter of
    torch sees. The guess saves hashing a weight twice. The digest of every byte decides.
    """

    def __init__(self):
        self.objects, self.checksums = OrderedDict(), OrderedDict()

    def guess(self, source):
        """The object that the storage probably is: one with the same address, size, beginning and end."""
        ends, id = self.objects.get(source.identity, (None, None))
        return id if id and ends == source.ends() else None

    def forget(self, source):
        self.objects.pop(source.identity, None)

    def add(self, source, id, checksum):
        for known, key, value in ((self.objects, source.identity, (source.ends(), id)), (self.checksums, id, checksum)):
            known[key] = value
            known.move_to_end(key)
            if len(known) > REMEMBERED:
                known.popitem(last=False)


def on_the_host(tensor, sources):
    """Like `tensor.detach().cpu()`. For a tensor on another device it has the layout over memory that is never touched:
    the bytes come from the device on demand, from where `sources` says."""
    tensor = tensor.detach()
    plain = tensor.layout == torch.strided and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
    if tensor.device.type in ("cpu", "meta") or not plain or type(tensor) is not torch.Tensor:
        return tensor.cpu()
    return stand_in(tensor, sources)


def stand_in(tensor, sources):
    """A tensor with the layout of a copy of `tensor` on the host. `sources` records where the bytes of its storage
    are."""
    host = torch.empty_like(tensor, device="cpu")
    if host.stride() != tensor.stride():
        # It has gaps or overlaps itself; a copy does not.
        tensor = tensor.contiguous()
    storage = host.untyped_storage()
    start = tensor.storage_offset() * tensor.element_size()
    sources[storage._cdata] = Source(tensor.untyped_storage(), start, storage.nbytes())
    return host
