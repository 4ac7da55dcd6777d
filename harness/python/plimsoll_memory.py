"""Memory of the Python worker of Plimsoll: files mapped copy-on-write, and what a kernel has written to them.

A kernel that writes its inputs changes no file, and is told of. The files of one launch after the other lie at the same
addresses, so that a kernel that has kept a result by the addresses of its arguments gives it where it is wrong.
"""

import array
import ctypes
import mmap
import os
import random

MAP_FIXED = 0x10
MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
MAP_FAILED = ctypes.c_void_p(-1).value
PRIVATE = mmap.MAP_PRIVATE | MAP_NORESERVE
PROT_NONE = 0
WRITABLE = mmap.PROT_READ | mmap.PROT_WRITE
# Addresses that are kept, where the system gives so many: nothing but a number is spent on them.
USUAL_ARENA = 64 << 30
PRESENT, SWAPPED, OF_A_FILE = 1 << 63, 1 << 62, 1 << 61

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
# What takes the place of a table of pages.
LARGE_PAGE = mmap.PAGESIZE // 8 * mmap.PAGESIZE
# Addresses among which one can be chosen at random: every 64-bit system gives them to programs, and hardly anything lies there.
FAR = range(1 << 40, 1 << 46, LARGE_PAGE)


def mapped(address, length, access, flags, descriptor=-1, offset=0):
    found = libc.mmap(address, length, access, flags, descriptor, offset)
    if found == MAP_FAILED:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


def apart(address, offset):
    """What to add to an address, so that large pages of the page cache do not fit to a map of a file from `offset` on.

    Where they do, one byte that is read of such a page, in which a file lies that was just written, has all of it mapped.
    """
    return 0 if (address - offset) % LARGE_PAGE else mmap.PAGESIZE


class Arena:
    """Addresses that are given to the files of one call after the other."""

    def __init__(self):
        self.start = self.length = self.used = 0

    def begin(self, needed):
        """Begins again at the first address, with room for so many bytes. Nothing stays behind those that were used.

        Each map may need a page more, which `apart` leaves out.
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
        """A map of a file at the next addresses."""
        pages = length + -length % mmap.PAGESIZE
        self.used += apart(self.start + self.used, offset)
        address = mapped(self.start + self.used, length, WRITABLE, PRIVATE | MAP_FIXED, descriptor, offset)
        self.used += pages
        return (ctypes.c_char * length).from_address(address)


def map_anywhere(descriptor, length, offset, near=None):
    """A map of a file that lives as long as what was made of it. Where nothing lies near an address, it is mapped there."""
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
    """A map of a file at addresses that nothing has had before, as good as surely."""
    return map_anywhere(descriptor, length, offset, chance.choice(FAR))


def changed(mapping, path, offset):
    """The ranges of a map that are no longer what the file holds, at most one a page, as offsets in the file."""
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
    """The pages that are no longer the file's: the first write to a page makes a copy, which is anonymous."""
    pages = -(-length // mmap.PAGESIZE)
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
            entries = os.pread(pagemap.fileno(), pages * 8, address // mmap.PAGESIZE * 8)
    except OSError:
        return range(pages)
    if len(entries) < pages * 8:
        # A system that does not tell has all pages compared.
        return range(pages)
    entries = array.array("Q", entries)
    return [page for page, entry in enumerate(entries) if entry & (PRESENT | SWAPPED) and not entry & OF_A_FILE]
