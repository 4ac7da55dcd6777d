"""What stale outputs are judged by, declared once for the workers of both languages.

`harness/src/worker/rules.rs` reads this text when Plimsoll is built: each rule is a name, an equals sign and a number, on a line of
its own. `tests/data/stale.json` has outputs of launches and the verdict on each, which both implementations are tested with.
"""

# How many times in a row a kernel has to be found out: what differs from launch to launch by itself can look so once.
ROUNDS = 4
# So many stale elements are enough to tell a part that was kept from elements that came out the same by chance.
ENOUGH = 64
# A part that was kept is at least one of so many parts of the elements that follow the arguments.
PARTS = 8
# How many stale elements one element excuses that differs between launches on the same contents.
UNSTEADY = 8
# Elements of a tensor beside each other that are altered together.
RUN = 64
# A tensor that spans no more bytes is altered everywhere.
WHOLE = 65536
# Places of one larger tensor that are altered, at the most, and how many of these are in rows that integers of the call name.
PLACES = 128
NAMED = 112
# Places that are altered for a call, at the most: each is a page of memory or two.
PLACES_OF_CALL = 1024
