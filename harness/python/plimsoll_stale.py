"""Whether a kernel of the Python worker of Plimsoll gives what it has kept by the addresses of its arguments.

After the timing, elements of the floating-point arguments take the values of other elements where they lie. A kernel that
computes then gives what it gives elsewhere for the same values; one that has kept its result gives that. Values stay those of
the capture, and integers and truth values stay as they are, for they are indices, lengths and masks: no launch meets what it
could not have been given. Nothing of this depends on what the kernel computes.
"""

import itertools
import math
import mmap
import os
import random

import plimsoll_rules as rules
import plimsoll_torch as backend
import torch

# Outputs are compared in so many pieces at most, and so many elements at a time; fewer where they have to be gathered.
PIECES = 1 << 20
PART, PART_COPIED = 1 << 20, 1 << 16
# Integers of the size of an element: bits are compared, and NaN is itself.
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

MESSAGE = ("launched once more on the buffers that were timed, with other values in its floating-point arguments, the kernel "
           "gave {stale} of the {following} {pieces} that follow them as they had been: it gives what it has kept by address")


class Trial:
    """Launches of one call around its timing, on other values and on those of the capture.

    `launch` launches on inputs, to the end, and gives the output; `outputs` is where outputs are kept to be compared with.
    """

    def __init__(self, launch, outputs):
        self.launch, self.outputs = launch, outputs
        self.other = self.given = self.evidence = None
        # Inputs whose addresses are not to come again.
        self.seen = []

    def before(self, inputs):
        """Launches on other values before the kernel is timed: what computes once, and gives that wherever its arguments lie, is
        wrong where it is judged."""
        other = Other(inputs)
        if other:
            other.put(inputs)
            self.given_or_none(inputs)
        inputs.drop()
        self.seen.append(inputs)

    def at_timed(self, inputs, mutated):
        """Launches where the kernel was timed, first as it was, then on other values. The inputs are restored.

        No launch elsewhere stands between these: a kernel may keep what it gave for the last addresses alone.
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
        """Holds what was given at the timed addresses against launches on `inputs()`, at addresses that the kernel never saw.

        A suspicion has to hold several times, in an order that no kernel follows: where a result differs by itself from one
        launch to the next, or with the addresses, nothing can be told.
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
        """Where a launch gives something else than was given first; None where it fails: it was not made for such values."""
        if other:
            other.put(inputs)
        return self.given_or_none(inputs, self.given.differs)

    def given_or_none(self, inputs, take=lambda output: None):
        """What `take` makes of the output of a launch; None where it fails."""
        try:
            return take(self.launch(inputs))
        except BaseException as error:
            if backend.kind_of(error) == "device-fault":
                raise
            return None


def pairs(rounds):
    """Launches on other values (true) and on those of the capture, as many of each, in pairs of any order."""
    chance = random.SystemRandom()
    for _ in range(rounds):
        first = chance.random() < 0.5
        yield from (first, not first)


class Evidence:
    """Which pieces of the outputs follow the arguments, and which of them do not where the kernel was timed.

    `harness/src/worker/evidence.rs` judges by the same rules. Here every output is held against one: what captured values gave where
    the kernel was timed. `here` says of each piece whether other values gave something else there.
    """

    def __init__(self, here):
        self.here = here
        self.elsewhere, self.unsteady = torch.ones_like(here), torch.zeros_like(here)

    def is_none(self):
        """Whether other values changed everything, or there is nothing."""
        return bool(self.here.all())

    def altered(self, differs):
        """Takes in what other values gave elsewhere."""
        self.elsewhere &= differs

    def captured(self, differs):
        """Takes in what captured values gave elsewhere: a piece that differs does so by itself, or with the addresses."""
        self.unsteady |= differs

    def kept(self):
        """How many pieces are stale, and how many follow the arguments, if that is enough to accuse a kernel; else None."""
        steady = ~self.unsteady
        stale = int((self.elsewhere & ~self.here & steady).sum())
        following = int(((self.elsewhere | self.here) & steady).sum())
        unsteady = int(self.unsteady.sum())
        everything = stale == following and unsteady == 0
        part = stale >= rules.ENOUGH and rules.PARTS * stale >= following and stale > rules.UNSTEADY * unsteady
        return (stale, following) if stale > 0 and (everything or part) else None


class Other:
    """What changes in the arguments of a call: for each tensor the places, what lies there, and what is to."""

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
            # Each of another, by chance: an exchange would leave a sum as it was.
            count = before.numel()
            others = torch.randint(1, count, before.shape, generator=draw, dtype=torch.int64, device="cpu")
            others = others.view(-1).add_(torch.arange(count, device="cpu")).remainder_(count).view(before.shape)
            after = before.view(-1)[others.to(inputs.device)]
            self.patches.append((places, at, before, after))

    def __bool__(self):
        return any(not torch.equal(before, after) for _, _, before, after in self.patches)

    def put(self, inputs):
        """Writes the other values to inputs of the call."""
        for places, at, _, after in self.patches:
            places.flat(inputs)[at] = after

    def undo(self, inputs):
        """Writes back what was captured."""
        for places, at, before, _ in self.patches:
            places.flat(inputs)[at] = before


class Places:
    """Where the elements of a tensor lie in its storage. Elements that lie at one place count as one."""

    def __init__(self, content):
        layout = content["layout"]
        self.content, self.shape, self.offset = content, layout["shape"], layout["offset"]
        self.dims = [(size, stride) for size, stride in zip(layout["shape"], layout["strides"]) if stride > 0 and size != 1]
        self.count, self.span = 1, 1
        for size, stride in sorted(self.dims, key=lambda dim: dim[1]):
            if stride < self.span:
                # Rows that overlap: what changes in one would change in another.
                self.count = 0
            self.count *= size
            self.span += (size - 1) * stride
        if 0 in self.shape:
            self.count = 0
        self.key = content["storage"], self.offset, layout["dtype"], tuple(self.dims)

    def flat(self, inputs):
        """The stretch of the storage in which the tensor lies, element by element."""
        dtype = backend.dtype_named(self.content["layout"]["dtype"])
        # As integers, for not every dtype can be indexed; complex128 can.
        dtype = BITS.get(dtype.itemsize, dtype)
        index = self.content["storage"]
        storage, offset = inputs.storage(index), inputs.start(index, dtype) + self.offset
        return torch.empty(0, dtype=dtype, device=inputs.device).set_(storage, offset, (self.span,), (1,))

    def at(self, elements):
        """The places of elements, by their numbers in row-major order."""
        at = torch.zeros_like(elements)
        for size, stride in reversed(self.dims):
            at += elements % size * stride
            elements = elements // size
        return at

    def sample(self, inputs, chance):
        """Elements of a tensor of integers: all, or as many as are looked at."""
        numbers = chance.sample(range(self.count), min(self.count, rules.NAMED))
        elements = torch.tensor(numbers, dtype=torch.int64, device="cpu")
        return self.flat(inputs)[self.at(elements).to(inputs.device)].tolist()

    def chosen(self, named, most, chance):
        """The places that are to change, those of a run beside each other.

        Each costs a page of memory, and up to 64 KiB if the kernel did not read there: few lie anywhere if integers name rows.
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
    """What a launch gave, in the memory of the outputs: what later ones give is held against it, in pieces."""

    def __init__(self, outputs, output):
        self.outputs = outputs
        self.leaves = outputs.write(output)
        counts = [math.prod(leaf["tensor"]["shape"]) if "tensor" in leaf else 1 for leaf in self.leaves]
        # A power of two, as the size of every element is.
        self.piece = 1 << max(0, -(-sum(counts) // PIECES) - 1).bit_length()
        self.ends = list(itertools.accumulate(-(-count // self.piece) for count in counts))

    def differs(self, output):
        """Of each piece, whether an output has other bits there."""
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
    """Of each `step` bytes, a power of two, whether they are others: in words, which is much faster than byte by byte."""
    word = min(step, max(BITS))
    differs = now.view(BITS[word]) != before.view(BITS[word])
    while differs.numel() * step > now.numel():
        differs = differs.view(BITS[min(8, differs.numel() * step // now.numel())]) != 0
    return differs


def is_alike(leaf, spec):
    """Whether a leaf is a tensor with the dtype and shape of another."""
    if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided or leaf.is_quantized or leaf.is_meta:
        return False
    return str(leaf.dtype).replace("torch.", "") == spec["dtype"] and list(leaf.shape) == spec["shape"]


def parts(tensor, most):
    """The elements of a tensor in row-major order, some at a time, each time as a tensor of one dimension."""
    if tensor.numel() <= most or tensor.is_contiguous():
        yield from tensor.reshape(-1).split(most) if tensor.numel() else ()
        return
    rows = max(1, most * tensor.shape[0] // tensor.numel())
    for at in range(0, tensor.shape[0], rows):
        piece = tensor[at:at + rows]
        yield from parts(piece if rows > 1 else piece[0], most)
