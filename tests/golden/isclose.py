"""Writes isclose.txt: results of torch.isclose for pairs of elements, for src/compare/tests.rs.

    python tests/golden/isclose.py > tests/golden/isclose.txt        # torch 2.11.0

A line has: dtype, rtol, atol, equal_nan, the bytes of the expected and of the actual elements in hex, and one digit per
element: 1 if they are close. 16-bit floats under a tolerance are widened first, because Plimsoll judges them in f32.
"""

import random
from itertools import product

import torch

INF, NAN = float("inf"), float("nan")
SPECIALS = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN]


def tensor(values, dtype):
    # torch cannot create a tensor of small floats from a list.
    return torch.tensor(values).to(dtype) if dtype.itemsize == 1 and dtype.is_floating_point else torch.tensor(values, dtype=dtype)


def line(expected, actual, rtol, atol, equal_nan, widen=False):
    bytes_of = lambda t: t.contiguous().view(torch.uint8).numpy().tobytes().hex()
    e, a = (expected.float(), actual.float()) if widen else (expected, actual)
    close = torch.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    name = str(expected.dtype).removeprefix("torch.")
    print(name, rtol, atol, str(equal_nan).lower(), bytes_of(expected), bytes_of(actual), "".join(str(int(x)) for x in close.tolist()))


def pairs(values, dtype, rtol, atol):
    expected, actual = (tensor([pair[i] for pair in product(values, values)], dtype) for i in (0, 1))
    for equal_nan in (False, True):
        line(expected, actual, rtol, atol, equal_nan)


def boundary(dtype, rtol, atol, widen=False):
    """Pairs a few units in the last place from the edge of the tolerance, and on it."""
    expected, actual = [], []
    for _ in range(48):
        e = torch.tensor(random.choice([1, -1]) * 10 ** random.uniform(-4, 4), dtype=dtype)
        a = (e.double() + random.choice([1, -1]) * (atol + rtol * e.double().abs())).to(dtype)
        for _ in range(random.randrange(4)):
            a = torch.nextafter(a, torch.tensor(random.choice([INF, -INF]), dtype=dtype))
        expected.append(e)
        actual.append(a)
    line(torch.stack(expected), torch.stack(actual), rtol, atol, False, widen)


random.seed(7)
for dtype, rtol, atol in [(torch.float32, 1.3e-6, 1e-5), (torch.float64, 1e-7, 1e-7), (torch.bfloat16, 1.6e-2, 1e-5), (torch.float16, 1e-3, 1e-5)]:
    pairs(SPECIALS, dtype, rtol, atol)
    for r, a in [(rtol, atol), (1e-1, 1e-2)]:
        boundary(dtype, r, a, widen=dtype.itemsize == 2)
big, tiny = 3.4e38, 1e-45
line(tensor([big, big, -big, tiny, 0.0, big], torch.float32), tensor([-big, big, -big, 0.0, tiny, INF], torch.float32), 3.0, 0.0, False)
for dtype in (torch.complex64, torch.complex128):
    pairs([0, 1, 1j, 3 + 4j, complex(INF, 1), complex(INF, 2), complex(NAN, 1), complex(1, NAN)], dtype, 0.1, 0.01)
    line(tensor([3 + 4j] * 4, dtype), tensor([3 + 4.4j, 3.4 + 4j, 3.36 + 4.36j, 3.3 + 4.3j], dtype), 0.1, 0.01, False)
for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
    values = [(100, 100), (100, 110), (100, 111), (100, 90), (100, 89), (0, 1), (0, 0), (1, 0), (127, 0)]
    values += [(-100, 100), (-100, -110), (-128, 127)] if dtype.is_signed else []
    expected, actual = (tensor([pair[i] for pair in values], dtype) for i in (0, 1))
    line(expected, actual, 0.0, 0.0, False)
    if dtype.itemsize >= 4:  # torch wraps |actual - expected| around in narrower integers
        line(expected, actual, 0.1, 0.01, False)
line(tensor([False, False, True, True], torch.bool), tensor([False, True, False, True], torch.bool), 0.0, 0.0, False)
pairs([0.0, -0.0, 1.0, 1.125, NAN], torch.float8_e4m3fn, 0.0, 0.0)
pairs([0.0, -0.0, 1.0, 1.25, INF, -INF, NAN], torch.float8_e5m2, 0.0, 0.0)
