"""The memory of Plimsoll's Python worker: files mapped copy-on-write, and detection of a kernel's writes to them.

A kernel that writes to its inputs changes no file, and is reported. The files of consecutive launches lie at the same
addresses, so that a kernel which remembers a result by the addresses of its arguments returns it where it is wrong.
"""

import array
import ctypes
import errno
import mmap
import os
import random

MAP_FIXED = 0x10
MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
MAP_FAILED = ctypes.c_void_p(-1).value
PRIVATE = mmap.MAP_PRIVATE | MAP_NORESERVE
PROT_NONE = 0
WRITABLE = mmap.PROT_READ | mmap.PROT_WRITE
# Reserved addresses, if the system grants so many; they cost no memory.
USUAL_ARENA = 64 << 30
PRESENT, SWAPPED, OF_A_FILE = 1 << 63, 1 << 62, 1 << 61

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
# The same library, called without giving up the interpreter: its other threads would run until they are asked to stop.
# What the system reads of memory that a kernel has made unreadable is an error, and runs none of its handlers.
held = ctypes.PyDLL(None, use_errno=True)
held.pwrite.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long]
held.pwritev.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_long]
held.pread.argtypes = held.pwrite.argtypes
held.preadv.argtypes = held.pwritev.argtypes
held.read.argtypes = held.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
held.memmove.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
for name in ("pwrite", "pwritev", "pread", "preadv", "read", "write"):
    getattr(held, name).restype = ctypes.c_ssize_t
# The size of a page that replaces a whole page table.
LARGE_PAGE = mmap.PAGESIZE // 8 * mmap.PAGESIZE
# Addresses to choose from at random: every 64-bit system grants them to programs, and they are mostly unused.
FAR = range(1 << 40, 1 << 46, LARGE_PAGE)


def put(descriptor, address, size, offset, pwrite=held.pwrite, error=ctypes.get_errno):
    """Copies memory to a file; returns the error if the system cannot read it, or 0."""
    while size > 0:
        done = pwrite(descriptor, address, size, offset)
        if done <= 0:
            return error() or errno.EIO
        address, size, offset = address + done, size - done, offset + done
    return 0


def mapped(address, length, access, flags, descriptor=-1, offset=0):
    found = libc.mmap(address, length, access, flags, descriptor, offset)
    if found == MAP_FAILED:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


def apart(address, offset):
    """The offset to add to an address so that large pages of the page cache do not fit a map of a file from `offset`
    on.

    If they fit, reading one byte of such a page, which a freshly written file has, maps all of it.
    """
    return 0 if (address - offset) % LARGE_PAGE else mmap.PAGESIZE


class Arena:
    """Addresses for the files of consecutive calls."""

    def __init__(self):
        self.start = self.length = self.used = 0

    def begin(self, needed):
        """Starts again at the first address, with room for this many bytes, and unmaps what was used.

        Each map may need one more page, which `apart` skips.
        """
        if self.used:
            mapped(self.start, self.used, PROT_NONE, PRIVATE | MAP_FIXED | mmap.MAP_ANONYMOUS)
            self.used = 0
        if needed > self.length:
            if self.length:
                libc.munmap(self.start, self.length)
                self.length = 0
            for length in (max(needed, USUAL_ARENA), needed):
                try:
                    self.start = mapped(None, length, PROT_NONE, PRIVATE | mmap.MAP_ANONYMOUS)
                except OSError:
                    if length == needed:
                        raise
                else:
                    self.length = length
                    break

    def map(self, descriptor, length, offset):
        """Maps a file at the next addresses."""
        pages = length + -length % mmap.PAGESIZE
        self.used += apart(self.start + self.used, offset)
        address = mapped(self.start + self.used, length, WRITABLE, PRIVATE | MAP_FIXED, descriptor, offset)
        self.used += pages
        return (ctypes.c_char * length).from_address(address)


def map_anywhere(descriptor, length, offset, near=None):
    """Maps a file for as long as an object made from the map lives, near a given address if nothing is there."""
    # Without a reservation, a file larger than memory can be mapped: most of it is never touched.
    room = length + -length % mmap.PAGESIZE + mmap.PAGESIZE
    start = mapped(near, room, PROT_NONE, PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        address = mapped(start + apart(start, offset), length, WRITABLE, PRIVATE | MAP_FIXED, descriptor, offset)
    except OSError:
        libc.munmap(start, room)
        raise

    class Map(ctypes.c_char * length):
        def madvise(self, advice):
            libc.madvise(address, length, advice)

        def __del__(self, munmap=libc.munmap):
            munmap(start, room)

    return Map.from_address(address)


def map_afar(descriptor, length, offset, chance=random.SystemRandom()):
    """Maps a file at addresses that almost certainly nothing has used before."""
    return map_anywhere(descriptor, length, offset, chance.choice(FAR))


def changed(mapping, path, offset):
    """The ranges of a map that differ from the file, at most one per page, as offsets in the file."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    ranges = []
    with open(path, "rb") as file:
        for page in written_pages(address, len(mapping)):
            at = page * mmap.PAGESIZE
            length = min(mmap.PAGESIZE, len(mapping) - at)
            now, before = ctypes.string_at(address + at, length), os.pread(file.fileno(), length, offset + at)
            if now != before:
                differ = [i for i, (a, b) in enumerate(zip(now, before)) if a != b]
                ranges.append((offset + at + differ[0], offset + at + differ[-1] + 1))
    return ranges


def written_pages(address, length):
    """The pages that no longer belong to the file: the first write to a page makes an anonymous copy."""
    pages = -(-length // mmap.PAGESIZE)
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
            entries = os.pread(pagemap.fileno(), pages * 8, address // mmap.PAGESIZE * 8)
    except OSError:
        return range(pages)
    if len(entries) < pages * 8:
        # If the system does not report this, all pages are compared.
        return range(pages)
    entries = array.array("Q", entries)
    return [page for page, entry in enumerate(entries) if entry & (PRESENT | SWAPPED) and not entry & OF_A_FILE]
