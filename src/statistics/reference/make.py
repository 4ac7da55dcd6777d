#!/usr/bin/env python3
"""Writes `scipy.txt`: inputs and the results of SciPy and NumPy for them, which `tests/statistics/main.rs` checks the
crate against.

Run from anywhere, with SciPy in a virtual environment outside the tree:

    python3 -m venv /tmp/scipy
    /tmp/scipy/bin/pip install scipy==1.17.1 numpy==2.4.6
    /tmp/scipy/bin/python src/statistics/reference/make.py

One line a case: the function, its arguments, its results, each list separated by `;`, numbers by blanks. The inputs
come from a fixed seed, so that the same versions write the same file.

SciPy has no interval of a shift: it is found here by inverting SciPy's test, which is what the interval means. Every
shift between two neighbouring differences (or Walsh averages) is tested, and the interval is the closed range of those
that the two-sided test does not reject. SciPy has no change points either: their definition is written out here, every
place of every order, with SciPy's ranks and a SplitMix64 of its own.
"""

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import scipy
from scipy import stats

random = np.random.default_rng(20240229)
lines = []


def numbers(values):
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


def case(function, arguments, results):
    lines.append(" ; ".join([function, *map(numbers, arguments)]) + " = " + " ; ".join(map(numbers, results)))


def sample(size, kind):
    """Figures as machines produce them: scattered times, bytes in whole pages, few distinct values."""
    if kind == "times":
        return np.round(random.lognormal(7, 0.2, size), 3)
    if kind == "pages":
        return 4096.0 * random.integers(25_000, 26_000, size)
    if kind == "ties":
        return random.integers(0, 5, size).astype(float)
    return np.round(random.normal(0, 1, size), 6)


KINDS = ["times", "pages", "ties", "normal"]


def descriptions():
    for size in [1, 2, 3, 4, 5, 10, 25, 40]:
        for kind in KINDS:
            x = sample(size, kind)
            case("median", [x], [np.median(x)])
            case("median_absolute_deviation", [x], [stats.median_abs_deviation(x)])
            q = np.round(random.random(), 6)
            case("quantile", [np.sort(x), q], [np.quantile(x, q, method="linear")])
            case("middle_ranks", [x], [stats.rankdata(x) - 1])
            if size > 1:
                figures = [np.median(x), np.mean(x), np.std(x, ddof=1), x.min(), x.max(), np.percentile(x, 95)]
                error = stats.sem(x) / np.mean(x)
                case("summary", [x], [figures, error])


def normal():
    tails = 10.0 ** -np.arange(1, 16)
    ps = np.concatenate([tails, 1 - tails[:8], random.random(20), [0.02425, 0.97575]])
    for p in ps:
        case("normal_quantile", [p], [stats.norm.ppf(p)])
    for z in np.concatenate([np.linspace(-8, 8, 33), random.normal(0, 3, 10)]):
        case("normal_upper_tail", [z], [stats.norm.sf(z)])
    for z in [1, 1.5, 2, 3, 5, 8, 20, 40, 100, 1e4]:
        case("normal_ln_upper_tail", [z], [stats.norm.logsf(z)])


def effective_size(x):
    size = len(x)
    if size < 20:
        return size
    centred = stats.rankdata(x) - (size + 1) / 2
    correlation = np.dot(centred[1:], centred[:-1]) / np.dot(centred, centred)
    return size if correlation <= 1.645 / math.sqrt(size) else max(8, size * (1 - correlation) / (1 + correlation))


def effective():
    for size in [10, 19, 20, 50, 120]:
        for keep in [0.0, 0.3, 0.6, 0.9, 0.99]:
            x, level = [], 0.0
            for noise in random.normal(0, 1, size):
                level = keep * level + noise
                x.append(round(level, 4))
            case("effective_size", [x], [effective_size(x)])


def independent(mean, size):
    """Normal figures without correlation between neighbours, because SciPy's tests assume that."""
    while effective_size(x := random.normal(mean, 3, size)) != size:
        pass
    return x


def separated(n, m, u):
    """Two samples without ties whose U, of the first over the second, is `u`."""
    y = np.arange(1, m + 1, dtype=float)
    x, left = [], u
    for number in range(n):
        below = min(m, left)
        left -= below
        x.append(below + 0.5 + number * 1e-3)
    return np.array(x), y


def mann_whitney_p(n, m, u, method):
    x, y = separated(n, m, u)
    test = stats.mannwhitneyu(x, y, alternative="less", method=method, use_continuity=True)
    assert test.statistic == u
    return test.pvalue


def signed_rank_p(n, w, method):
    """P(W <= w), from differences whose positive ranks have the sum w."""
    x, left = -np.arange(1, n + 1, dtype=float), w
    for rank in range(n, 0, -1):
        if rank <= left:
            x[rank - 1], left = rank, left - rank
    return stats.wilcoxon(x, alternative="less", method=method, correction=True).pvalue


def largest_k(p, tail):
    """The largest k with P(less than k) <= tail, for a statistic that starts at 0."""
    return next(u for u in itertools.count() if p(u) > tail)


def critical():
    for n, m in [(1, 1), (3, 3), (4, 4), (5, 5), (5, 12), (8, 8), (10, 3), (25, 25), (20, 7)]:
        for tail in [0.025, 0.005, 0.0005, 0.2]:
            k = largest_k(lambda u: mann_whitney_p(n, m, u, "exact"), tail)
            case("mann_whitney_exact", [n, m, tail], [k])
    for n, m in [(10, 10), (26, 30), (40, 40), (30, 100)]:
        for tail in [0.025, 0.005, 0.2]:
            k = largest_k(lambda u: mann_whitney_p(n, m, u, "asymptotic"), tail)
            case("mann_whitney_normal", [n, m, tail], [k])
    for n in [1, 4, 6, 8, 12, 20, 35, 50]:
        for tail in [0.025, 0.005, 0.2]:
            case("signed_rank", [n, tail], [largest_k(lambda w: signed_rank_p(n, w, "exact"), tail)])
    for n in [51, 70, 120]:
        for tail in [0.025, 0.005, 0.2]:
            case("signed_rank", [n, tail], [largest_k(lambda w: signed_rank_p(n, w, "asymptotic"), tail)])
    # Separated as far as they can be, samples differ from so many figures on.
    for confidence in [0.9, 0.95, 0.99, 0.999]:
        tail = (1 - confidence) / 2
        sets = next(n for n in itertools.count(1) if mann_whitney_p(n, n, 0, "exact") <= tail)
        pairs = next(n for n in itertools.count(1) if signed_rank_p(n, 0, "exact") <= tail)
        case("fewest", [confidence], [sets, pairs])


def inverted(values, p, alpha):
    """The ends of the closed range of shifts that a two-sided test accepts; `values` are where its p may change."""
    values = np.sort(values)
    between = (values[1:] + values[:-1]) / 2
    outside = [values[0] - 1, *between, values[-1] + 1]
    accepted = [number for number, shift in enumerate(outside) if p(shift) > alpha]
    low, high = accepted[0], accepted[-1]
    return [] if low == 0 else [values[low - 1], values[high]]


def shifts():
    # Untied figures, because SciPy's exact distributions do not support ties between differences.
    for n, m in [(1, 1), (4, 4), (5, 5), (6, 9), (10, 10), (25, 18), (26, 10), (35, 30)]:
        for confidence in [0.95, 0.99]:
            before, after = independent(100, n), independent(101, m)
            method = "exact" if max(n, m) <= 25 else "asymptotic"
            differences = np.subtract.outer(after, before).ravel()

            def p(shift, before=before, after=after, method=method):
                return stats.mannwhitneyu(after - shift, before, alternative="two-sided", method=method).pvalue

            ends = inverted(differences, p, 1 - confidence)
            case("mann_whitney_shift", [before, after, confidence], [np.median(differences), ends])
    for n in [1, 5, 6, 8, 12, 20, 30, 50, 60]:
        for confidence in [0.95, 0.99]:
            before = random.normal(100, 3, n)
            after = before + random.normal(1, 1, n)
            difference = after - before
            walsh = np.array([(difference[i] + difference[j]) / 2 for i in range(n) for j in range(i, n)])
            method = "exact" if n <= 50 else "asymptotic"

            def p(shift, difference=difference, method=method):
                return stats.wilcoxon(difference - shift, method=method, correction=True).pvalue

            ends = inverted(walsh, p, 1 - confidence)
            case("signed_rank_shift", [before, after, confidence], [np.median(walsh), ends])


def permutations():
    """Exact permutation tests: the p of U over all splits of the figures, and of W over all signs."""
    for n, m in [(3, 4), (5, 5), (4, 6)]:
        x, y = random.normal(0, 1, n), random.normal(1, 1, m)

        def u(x, y, axis):
            return np.sum(np.expand_dims(x, -1) > np.expand_dims(y, -2), axis=(-1, -2)).astype(float)

        test = stats.permutation_test((x, y), u, vectorized=True, permutation_type="independent",
                                      n_resamples=np.inf, alternative="less", axis=-1)
        # U + 1 is the largest k that this tail still admits.
        case("mann_whitney_exact", [n, m, test.pvalue * (1 + 1e-9)], [test.statistic + 1])


def trends():
    for size in [2, 3, 4, 5, 9, 20, 60]:
        for kind in KINDS:
            x = np.sort(random.integers(0, 3 * size, size)).astype(float)
            if x[0] == x[-1]:
                x[-1] += 1
            y = sample(size, kind) + (0.05 * x if kind != "ties" else 0)
            case("theil_sen", [x, y], [stats.theilslopes(y, x).slope])
            # Kendall's tau with the order has the sign of S, and its p the variance of the normal approximation.
            s = np.sign(np.subtract.outer(y, y))[np.tril_indices(size, -1)].sum()
            if s == 0 or size < 3:
                continue
            order = np.arange(size)
            tau = stats.kendalltau(order, y, method="asymptotic")
            assert np.sign(tau.statistic) == np.sign(s)
            deviation = abs(s) / stats.norm.isf(tau.pvalue / 2)
            case("mann_kendall", [y], [s, deviation**2, stats.norm.sf((s - np.sign(s)) / deviation)])


class SplitMix64:
    """SplitMix64, after Vigna's splitmix64.c."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)


def words():
    for seed in [0, 1, 1234567, 2**63 + 5]:
        generator = SplitMix64(seed)
        # Split into halves of 32 bits: a whole word does not fit a float.
        halves = [half for word in (generator.word() for _ in range(4)) for half in (word >> 32, word & 0xFFFFFFFF)]
        case("words", [[seed >> 32, seed & 0xFFFFFFFF]], [halves])


for part in [descriptions, normal, effective, critical, shifts, permutations, trends, words]:
    part()
table = Path(__file__).with_name("scipy.txt")
versions = f"# Written by make.py with SciPy {scipy.__version__} and NumPy {np.__version__}.\n"
table.write_text(versions + "\n".join(lines) + "\n", encoding="ascii")
print(f"{table}: {len(lines)} cases, {table.stat().st_size} bytes", file=sys.stderr)
