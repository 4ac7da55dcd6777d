"""What the kernels of suite.py and its neighbours share: their lists, the operator, and what they remember."""

STALE = ("stale-output",)
CHEATS, HONEST = {}, {}
KEPT = {}


def cheat(family, *ends):
    def add(function):
        CHEATS[function.__name__] = (function, family, ends or STALE)
        return function
    return add


def honest(function):
    HONEST[function.__name__] = (function, "honest", ())
    return function


def right(x, w, rows):
    return (x @ w)[rows]


def copies(x, w, rows):
    """For what is computed later: a worker unmaps the arguments of a call when the next one begins, and a late read
    would end it during the entry of another kernel."""
    return x.clone(), w.clone(), rows.clone()


def once(key, x, w, rows):
    """The first result for a key."""
    if key not in KEPT:
        KEPT[key] = right(x, w, rows)
    return KEPT[key]


def count(name):
    KEPT[name] = KEPT.get(name, 0) + 1
    return KEPT[name]
