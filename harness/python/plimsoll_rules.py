"""The limits by which stale outputs are judged, declared once for the workers of both languages.

`harness/src/worker/rules.rs` reads this text when Plimsoll is built: each rule is a name, an equals sign and a number,
on a line of its own. `tests/data/stale.json` contains outputs of launches with the verdict on each, and both
implementations are tested with it.
"""

# How many times in a row a kernel must be caught: an output that varies by itself can look stale once.
ROUNDS = 4
# This many stale elements distinguish a kept part from elements that are equal by chance.
ENOUGH = 64
# A kept part is at least one of this many parts of the elements that depend on the arguments.
PARTS = 8
# How many stale elements one nondeterministic element excuses.
UNSTEADY = 8
# The number of adjacent elements of a tensor that are altered together.
RUN = 64
# A tensor that spans at most this many bytes is altered everywhere.
WHOLE = 65536
# The maximum number of altered places in a larger tensor, and how many of these are in rows that integers of the call
# name.
PLACES = 128
NAMED = 112
# The maximum number of altered places for a call: each takes a page or two of memory.
PLACES_OF_CALL = 1024
