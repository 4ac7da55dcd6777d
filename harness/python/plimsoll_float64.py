"""PyTorch's operators in float64, rounded once, with the tolerances that an output of the dtype may be held to.

A fixed tolerance knows neither the length of a sum nor the size of an output: it refuses what rounding alone does to a long
sum, and passes half precision if all numbers are small. The tolerances here are measured on the call itself:

    rtol = own * eps
    atol = around * absolute                or, if that allows less on average:
    rtol = own * eps + around * relative

`eps` is the distance between 1 and the next number of the output's dtype. `relative` and `absolute` are how far the output
moves, at most, if each number of the arguments changes by a distance, up or down at random: a sum in another order, or of
rounded products, is as far off as one of arguments that differ a little (backward error: Higham, Accuracy and Stability of
Numerical Algorithms, 1.5). Sums of 16-bit numbers are kept in float32, so their outputs are held to distances of float32; but
if terms of a sum cancel, half a distance of their own is allowed: one more rounding of what lies between, such as the weights
of an attention.
"""

import torch
from plimsoll_outputs import Refusal, flattened
from plimsoll_torch import Operator, dtype_named

# The relative change of arguments: the distance of numbers of float32.
STEP = 2.0**-23
# How many distances an output may be off in itself: that of float32 and longer ones, and of shorter ones.
OWN, OWN_SHORT = 16, 2
# How many distances its arguments may be off, and how many of a shorter one if terms of a sum cancel.
AROUND, AROUND_SHORT = 16, 0.5
# The distances of a sum differ from trial to trial by more than this share; those of a function of one number do not.
SAME = 1e-3
TRIALS = 3
# Elements that are looked at together.
PIECE = 1 << 20


class Widened(Operator):
    """An operator of torch that computes in float64. `tolerances` has those of its last output, by path."""

    def __init__(self, name):
        super().__init__(name)
        self.dtypes = {}

    def begin(self, call):
        super().begin(call)
        self.dtypes = {output["path"]: dtype_named(output["dtype"]) for output in call["outputs"]}

    def __call__(self, *args):
        output = super().__call__(*copied(args))
        spreads = {path: Spread(leaf, self.dtypes[path]) for path, leaf in flattened(output) if self.rounds(leaf, path)}
        if spreads:
            chance = torch.Generator().manual_seed(0)
            for _ in range(TRIALS):
                for path, leaf in flattened(super().__call__(*copied(args, chance))):
                    if path in spreads and leaf.shape == spreads[path].exact.shape:
                        spreads[path].add(leaf)
        self.tolerances.clear()
        self.tolerances.update((path, spread.tolerances()) for path, spread in spreads.items())
        return self.rounded(output)

    def rounds(self, leaf, path):
        """Whether a leaf of the output is rounded to its captured dtype."""
        dtype = self.dtypes.get(path)
        return isinstance(leaf, torch.Tensor) and dtype is not None and leaf.dtype in (torch.float64, torch.complex128) and (
            dtype.is_complex == leaf.is_complex() and (dtype.is_complex or dtype.is_floating_point))

    def rounded(self, value, path=""):
        if isinstance(value, (list, tuple)):
            return tuple(self.rounded(item, f"{path}[{index}]") for index, item in enumerate(value))
        return value.to(self.dtypes[path]) if self.rounds(value, path) else value


class Spread:
    """How far an output moves if the arguments change by STEP."""

    def __init__(self, exact, dtype):
        self.exact, self.dtype, self.first = exact, dtype, None
        self.relative = self.absolute = self.varies = self.largest = self.sum = 0.0
        for (number,) in pieces(exact):
            size = finite(number.abs())
            self.largest, self.sum = max(self.largest, size.max().item()), self.sum + size.sum().item()

    def add(self, moved):
        """Adds the output of changed arguments."""
        distances = finite((moved - self.exact).abs())
        self.first = distances if self.first is None else self.first
        for number, distance, first in pieces(self.exact, distances, self.first):
            share = torch.where(distance > 0, distance / number.abs(), torch.zeros_like(distance))
            self.absolute = max(self.absolute, distance.max().item())
            self.relative = max(self.relative, share.max().item())
            self.varies = max(self.varies, (distance - first).abs().max().item())

    def tolerances(self):
        """The tolerances of the output."""
        info = torch.finfo(self.dtype)
        short = info.eps > STEP
        rtol, around = (OWN_SHORT if short else OWN) * info.eps, AROUND * min(info.eps / STEP, 1)
        # The smallest number: smaller ones are flushed to zero, unless the dtype has few others.
        atol = info.smallest_normal * (info.eps if info.smallest_normal > 1e-30 else 1)
        if self.relative * self.sum <= self.absolute * self.exact.numel():
            rtol += around * self.relative
        elif short and self.varies > SAME * self.absolute:
            atol += AROUND_SHORT * info.eps / STEP * self.absolute
        else:
            atol += around * self.absolute
        if self.largest > 0 and rtol + atol / self.largest >= 1:
            text = (f"no tolerance can be given for the output: its numbers of up to {self.largest:.3g} move by {self.absolute:.3g} if "
                    "arguments change in the last bit of float32; the operator is random, or the call ill-conditioned: compare with "
                    "--reference torch")
            raise Refusal("unsupported", text)
        return {"rtol": rtol, "atol": atol}


def pieces(*tensors):
    """Parts of tensors of one shape, none of them empty."""
    return zip(*(tensor.reshape(-1).split(PIECE) for tensor in tensors)) if tensors[0].numel() else ()


def finite(numbers):
    """Numbers that are not finite as zeros."""
    return torch.where(numbers.isfinite(), numbers, torch.zeros_like(numbers))


def wider(dtype):
    """The dtype in which numbers of another are computed."""
    return torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype


def copied(value, chance=None):
    """A value whose tensors of floats and complex numbers are copies in the wider dtype, changed by STEP if there is `chance`."""
    if isinstance(value, torch.Tensor):
        return copied_tensor(value, chance)
    if isinstance(value, torch.dtype):
        return wider(value)
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item, chance) for item in value)
    if isinstance(value, dict):
        return {key: copied(item, chance) for key, item in value.items()}
    return value


def copied_tensor(tensor, chance):
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    # Rows that are one in memory stay one.
    single = tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]
    copy = single.to(wider(tensor.dtype), copy=True)
    if chance:
        factors = torch.empty(copy.shape, dtype=torch.float64).bernoulli_(0.5, generator=chance)
        copy.mul_(factors.mul_(2 * STEP).add_(1 - STEP))
    return copy.expand(tensor.shape)
