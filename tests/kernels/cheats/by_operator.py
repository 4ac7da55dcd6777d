"""Captures of calls of PyTorch's operators, for files of kernels with an entry for each kernel."""

import json
import os

import torch
from torch.nn import functional

PARAMS = {"softmax": ["input", "dim"], "layer_norm": ["input", "normalized_shape"], "topk": ["input", "k"], "sort": ["input", "dim"], "relu": ["input", "inplace"], "one_hot": ["input", "num_classes"],
          "scaled_dot_product_attention": ["query", "key", "value"]}


def write(folder, kernels):
    """Writes a capture for each operator to the folder of its name, and prints [NAME, END, ..] of its entries, as JSON. Of
    each kernel there are its name, the operator, the arguments of the call, and the ends."""
    listed = {}
    for name, function, args, *ends in kernels:
        module = functional if hasattr(functional, function) else torch
        # An operator may change its arguments in place.
        output = getattr(module, function)(*(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args))
        entry = {"function_name": f"{module.__name__}.{function}", "args": args, "kwargs": {}, "output": output,
                 "signature": {"params": PARAMS.get(function, ["input", "weight"])[:len(args)], "defaults": {}}}
        os.makedirs(os.path.join(folder, function), exist_ok=True)
        entries = listed.setdefault(function, [])
        torch.save(entry, os.path.join(folder, function, f"entry_{len(entries):06d}.pt"))
        entries.append([name, *ends])
    print(json.dumps(listed))
