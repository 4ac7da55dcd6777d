"""Detects kernels of Plimsoll's Python worker that return results remembered by the addresses of their arguments.

After the timing, elements of the floating-point arguments are replaced in place by values of other elements. A kernel
that computes then returns what it returns elsewhere for the same values; one that remembers returns its old result.
Values stay within those of the capture, and integers and bools are unchanged because they are indices, lengths and
masks, so no launch gets an impossible input. None of this depends on what the kernel computes.
"""

import itertools
import math
import mmap
import os
import random

import plimsoll_rules as rules
import plimsoll_torch as backend
import torch

# The maximum number of pieces in which outputs are compared, and of elements at a time; fewer if elements must be
# gathered.
PIECES = 1 << 20
PART, PART_COPIED = 1 << 20, 1 << 16
# Integers of an element's size: bits are compared, so that NaN equals itself.
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

MESSAGE = ("launched once more on the timed buffers, with other values in its floating-point arguments, the kernel "
           "returned {stale} of the {following} {pieces} that depend on them unchanged: it keeps results by address")


class Trial:
    """Launches of one call around its timing, on altered values and on captured ones.

    `launch` runs to completion on inputs and returns the output; `outputs` is where outputs are kept for comparison.
    """

    def __init__(self, launch, outputs):
        self.launch, self.outputs = launch, outputs
        self.other = self.given = self.evidence = None
        # Inputs whose addresses must not be used again.
        self.seen = []

    def before(self, inputs):
        """Launches on altered values before the kernel is timed. A kernel that computes once and then returns that for
        any arguments fails its validation."""
        other = Other(inputs)
        if other:
            other.put(inputs)
            self.given_or_none(inputs)
        inputs.drop()
        self.seen.append(inputs)

    def at_timed(self, inputs, mutated):
        """Launches at the timed addresses, first on captured values, then on altered ones. The inputs are restored.

        No launch elsewhere comes between these, because a kernel may remember only its last addresses.
        """
        if mutated:
            inputs.restore()
        other = Other(inputs)
        if not other:
            return
        self.given = Given(self.outputs, self.launch(inputs))
        if mutated:
            inputs.restore()
        try:
            differs = self.differs(inputs, other)
        finally:
            if mutated:
                inputs.restore()
            else:
                other.undo(inputs)
        if differs is not None:
            self.other, self.evidence = other, Evidence(differs)

    def elsewhere(self, inputs):
        """Compares the outputs from the timed addresses with launches on `inputs()`, at addresses that the kernel never
        saw.

        A suspicion must hold several times, in an order that no kernel can predict: if results vary by themselves
        between launches, or with the addresses, nothing can be concluded.
        """
        if self.evidence is None or self.evidence.is_none():
            return
        for altered in [True, *pairs(rules.ROUNDS)]:
            fresh = inputs()
            differs = self.differs(fresh, self.other if altered else None)
            fresh.drop()
            self.seen.append(fresh)
            if differs is None:
                return
            if altered:
                self.evidence.altered(differs)
            else:
                self.evidence.captured(differs)
            kept = self.evidence.kept()
            if kept is None:
                return
        stale, following = kept
        pieces = "elements" if self.given.piece == 1 else f"stretches of {self.given.piece} elements"
        message = MESSAGE.format(stale=stale, following=following, pieces=pieces)
        raise backend.Refusal("stale-output", message)

    def differs(self, inputs, other):
        """Where the output of a launch differs from the first; None if it fails, because the kernel was not made for
        such values."""
        if other:
            other.put(inputs)
        return self.given_or_none(inputs, self.given.differs)

    def given_or_none(self, inputs, take=lambda output: None):
        """Applies `take` to the output of a launch; None if the launch fails."""
        try:
            return take(self.launch(inputs))
        except BaseException as error:
            if backend.kind_of(error) == "device-fault":
                raise
            return None


def pairs(rounds):
    """Equal numbers of launches on altered (true) and captured values, paired in random order."""
    chance = random.SystemRandom()
    for _ in range(rounds):
        first = chance.random() < 0.5
        yield from (first, not first)


class Evidence:
    """Which pieces of the outputs depend on the arguments, and which of those did not where the kernel was timed.

    `harness/src/worker/evidence.rs` uses the same rules. Every output is compared with one: the output for captured
    values where the kernel was timed. `here` says for each piece whether altered values changed the output there.
    """

    def __init__(self, here):
        self.here = here
        self.elsewhere, self.unsteady = torch.ones_like(here), torch.zeros_like(here)

    def is_none(self):
        """Whether altered values changed everything, or there is nothing to compare."""
        return bool(self.here.all())

    def altered(self, differs):
        """Adds an output for altered values elsewhere."""
        self.elsewhere &= differs

    def captured(self, differs):
        """Adds an output for captured values elsewhere: a piece that differs varies by itself, or with the
        addresses."""
        self.unsteady |= differs

    def kept(self):
        """How many pieces are stale, and how many depend on the arguments, if that suffices to accuse a kernel; else
        None."""
        steady = ~self.unsteady
        stale = int((self.elsewhere & ~self.here & steady).sum())
        following = int(((self.elsewhere | self.here) & steady).sum())
        unsteady = int(self.unsteady.sum())
        everything = stale == following and unsteady == 0
        part = stale >= rules.ENOUGH and rules.PARTS * stale >= following and stale > rules.UNSTEADY * unsteady
        return (stale, following) if stale > 0 and (everything or part) else None


class Other:
    """The alterations to the arguments of a call: for each tensor the places, their old values, and their new ones."""

    def __init__(self, inputs):
        self.patches = []
        chance = random.Random(os.urandom(16))
        floating, integers = {}, []
        for content in backend.tensors_of(inputs.call["args"]):
            dtype, places = backend.dtype_named(content["layout"]["dtype"]), Places(content)
            if dtype.is_floating_point or dtype.is_complex:
                if places.count > 1:
                    floating.setdefault(places.key, places)
            elif dtype in (torch.int32, torch.int64) and places.count > 0:
                integers.append(places)
        named = [index for places in integers for index in places.sample(inputs, chance)]
        places_of_one = min(rules.PLACES, max(1, rules.PLACES_OF_CALL // max(1, len(floating))))
        draw = torch.Generator(device="cpu").manual_seed(chance.getrandbits(63))
        for places in list(floating.values())[:rules.PLACES_OF_CALL]:
            at = places.chosen(named, places_of_one, chance).to(inputs.device)
            before = places.flat(inputs)[at]
            # Each takes a random other value: an exchange would not change a sum.
            count = before.numel()
            others = torch.randint(1, count, before.shape, generator=draw, dtype=torch.int64, device="cpu")
            others = others.view(-1).add_(torch.arange(count, device="cpu")).remainder_(count).view(before.shape)
            after = before.view(-1)[others.to(inputs.device)]
            self.patches.append((places, at, before, after))

    def __bool__(self):
        return any(not torch.equal(before, after) for _, _, before, after in self.patches)

    def put(self, inputs):
        """Writes the altered values to inputs of the call."""
        for places, at, _, after in self.patches:
            places.flat(inputs)[at] = after

    def undo(self, inputs):
        """Writes the captured values back."""
        for places, at, before, _ in self.patches:
            places.flat(inputs)[at] = before


class Places:
    """The places of a tensor's elements in its storage. Elements at the same place count as one."""

    def __init__(self, content):
        layout = content["layout"]
        self.content, self.shape, self.offset = content, layout["shape"], layout["offset"]
        self.dims = [(size, stride) for size, stride in zip(layout["shape"], layout["strides"]) if stride > 0 and size != 1]
        self.count, self.span = 1, 1
        for size, stride in sorted(self.dims, key=lambda dim: dim[1]):
            if stride < self.span:
                # Overlapping rows: a change in one would change another.
                self.count = 0
            self.count *= size
            self.span += (size - 1) * stride
        if 0 in self.shape:
            self.count = 0
        self.key = content["storage"], self.offset, layout["dtype"], tuple(self.dims)

    def flat(self, inputs):
        """The tensor's stretch of the storage, element by element."""
        dtype = backend.dtype_named(self.content["layout"]["dtype"])
        # As integers, because not every dtype can be indexed; complex128 can.
        dtype = BITS.get(dtype.itemsize, dtype)
        index = self.content["storage"]
        storage, offset = inputs.storage(index), inputs.start(index, dtype) + self.offset
        return torch.empty(0, dtype=dtype, device=inputs.device).set_(storage, offset, (self.span,), (1,))

    def at(self, elements):
        """The places of elements, given their numbers in row-major order."""
        at = torch.zeros_like(elements)
        for size, stride in reversed(self.dims):
            at += elements % size * stride
            elements = elements // size
        return at

    def sample(self, inputs, chance):
        """Elements of a tensor of integers: all of them, or a limited number."""
        numbers = chance.sample(range(self.count), min(self.count, rules.NAMED))
        elements = torch.tensor(numbers, dtype=torch.int64, device="cpu")
        return self.flat(inputs)[self.at(elements).to(inputs.device)].tolist()

    def chosen(self, named, most, chance):
        """The places to change, with those of a run adjacent.

        Each costs a page of memory, and up to 64 KiB if the kernel did not read there, so only a few are spread out if
        integers name rows.
        """
        rows = self.shape[0] if self.shape and self.dims and self.dims[0][0] == self.shape[0] else 0
        size = backend.dtype_named(self.content["layout"]["dtype"]).itemsize
        if self.count <= rules.RUN or self.span * size <= min(rules.WHOLE, most * mmap.PAGESIZE):
            return self.at(torch.arange(self.count, device="cpu").view(1, -1))
        cells, inner = self.count // rules.RUN, self.count // max(1, rows)
        within = [index for index in named if 0 <= index < rows]
        within = chance.sample(within, min(len(within), rules.NAMED, most))
        chosen = {min((row * inner + chance.randrange(inner)) // rules.RUN, cells - 1) for row in within}
        anywhere = min(most, rules.PLACES - rules.NAMED if within else rules.PLACES)
        chosen.update(chance.randrange(cells) for _ in range(anywhere))
        starts = torch.tensor(sorted(chosen), dtype=torch.int64, device="cpu") * rules.RUN
        return self.at(starts.view(-1, 1) + torch.arange(rules.RUN, device="cpu"))


class Given:
    """The output of a launch, in the memory for outputs; later outputs are compared with it in pieces."""

    def __init__(self, outputs, output):
        self.outputs = outputs
        self.leaves = outputs.write(output)
        counts = [math.prod(leaf["tensor"]["shape"]) if "tensor" in leaf else 1 for leaf in self.leaves]
        # A power of two, as every element size is.
        self.piece = 1 << max(0, -(-sum(counts) // PIECES) - 1).bit_length()
        self.ends = list(itertools.accumulate(-(-count // self.piece) for count in counts))

    def differs(self, output):
        """For each piece, whether an output has different bits there."""
        differs = torch.zeros(self.ends[-1] if self.ends else 0, dtype=torch.bool, device="cpu")
        leaves = list(backend.flattened(output, ""))
        if [path for path, _ in leaves] != [leaf["path"] for leaf in self.leaves]:
            return ~differs
        for (_, now), before, start, end in zip(leaves, self.leaves, [0, *self.ends], self.ends):
            if "value" in before:
                differs[start:end] = isinstance(now, torch.Tensor) or backend.encoded(now) != before["value"]
            elif not is_alike(now, before["tensor"]):
                differs[start:end] = True
            else:
                self.compare(now.detach(), before["tensor"]["offset"], differs[start:end])
        return differs

    def compare(self, tensor, offset, differs):
        step, at = self.piece * tensor.element_size(), 0
        for part in parts(tensor, max(PART if tensor.is_contiguous() else PART_COPIED, self.piece)):
            now = part.resolve_conj().resolve_neg().contiguous().view(torch.uint8).cpu()
            before = torch.frombuffer(self.outputs.mapping, dtype=torch.uint8, offset=offset + at, count=now.numel())
            whole = now.numel() // step * step if at % step == 0 else 0
            if whole:
                differs[at // step:(at + whole) // step] = other_pieces(now[:whole], before[:whole], step)
            found = (now[whole:] != before[whole:]).nonzero().view(-1).add_(at + whole)
            differs[found.div_(step, rounding_mode="floor")] = True
            at += now.numel()


def other_pieces(now, before, step):
    """For each `step` bytes, a power of two, whether they differ: compared in words, which is much faster than in
    bytes."""
    word = min(step, max(BITS))
    differs = now.view(BITS[word]) != before.view(BITS[word])
    while differs.numel() * step > now.numel():
        differs = differs.view(BITS[min(8, differs.numel() * step // now.numel())]) != 0
    return differs


def is_alike(leaf, spec):
    """Whether a leaf is a tensor with the same dtype and shape as another."""
    if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided or leaf.is_quantized or leaf.is_meta:
        return False
    return str(leaf.dtype).replace("torch.", "") == spec["dtype"] and list(leaf.shape) == spec["shape"]


def parts(tensor, most):
    """The elements of a tensor in row-major order, in parts of one dimension."""
    if tensor.numel() <= most or tensor.is_contiguous():
        yield from tensor.reshape(-1).split(most) if tensor.numel() else ()
        return
    rows = max(1, most * tensor.shape[0] // tensor.numel())
    for at in range(0, tensor.shape[0], rows):
        piece = tensor[at:at + rows]
        yield from parts(piece if rows > 1 else piece[0], most)
