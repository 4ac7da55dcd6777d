"""Captures calls of torch.nn.functional directly to a Plimsoll store, with each storage kept once.

    from plimsoll_capture import capture, load

    with capture("store", ops=["embedding", "linear"], max_per_op=20):
        model(batch)
    entry = load("store", "torch_nn_functional_linear/entry_000000.pt")

Requires torch and blake3. `docs/capture-python.md` describes what is captured, and what it costs.
"""

from .hooks import Capture, NoSuchOperator, capture
from .reading import load
from .store import NotSaved, Store, StoreError

__all__ = ["Capture", "NoSuchOperator", "NotSaved", "Store", "StoreError", "capture", "load"]
