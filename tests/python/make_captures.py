"""Writes captures of several operators with real torch, like a profiling hook, and a kernel for each.

usage: make_captures.py OUT_DIR Creates OUT_DIR/NAME/entry_*.pt and OUT_DIR/NAME.py, whose `launch` is the operator
itself.
"""

import os
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
OUT = sys.argv[1]


def write(name, kernel, entries):
    os.makedirs(f"{OUT}/{name}")
    for i, entry in enumerate(entries):
        torch.save({"function_name": f"torch.nn.functional.{name}", **entry}, f"{OUT}/{name}/entry_{i:06d}.pt")
    with open(f"{OUT}/{name}.py", "w") as file:
        file.write(f"import torch\nimport torch.nn.functional as F\n\n\ndef launch(*args):\n    return {kernel}\n")


def signed(params, defaults, kwargs, output):
    return {"args": [], "kwargs": kwargs, "output": output, "signature": {"params": params, "defaults": defaults}}


x, w, b = torch.randn(7, 33), torch.randn(5, 33), torch.randn(5)
linear = [signed(["input", "weight", "bias"], {"bias": None}, {"input": i, "weight": v, "bias": c}, F.linear(i, v, c))
          for i, v, c in [(x, w, b), (x.t().contiguous().t(), w, b[:1].expand(5)), (x[::2], w.double().float(), None)]]
linear.append(signed(["input", "weight", "bias"], {"bias": None}, {"input": x.bfloat16(), "weight": w.bfloat16()},
                     F.linear(x.bfloat16(), w.bfloat16())))
write("linear", "F.linear(*args)", linear)

image = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
pooled = F.max_pool2d(image, 2, return_indices=True)
write("max_pool2d", "F.max_pool2d(args[0], args[1], return_indices=True)",
      [{"args": [image, 2], "kwargs": {}, "output": pooled},
       {"args": [image.contiguous(), [2, 2]], "kwargs": {}, "output": list(pooled)}][:1])

# Without a signature, and with keywords that appear one after the other.
logits = torch.randn(4, 9)
write("softmax", "torch.softmax(args[0].float(), args[1]).to(args[2] if len(args) > 2 else args[0].dtype)",
      [{"args": [logits], "kwargs": {"dim": -1}, "output": F.softmax(logits, dim=-1)},
       {"args": [logits.half()], "kwargs": {"dim": 0, "dtype": torch.float32},
        "output": F.softmax(logits.half(), dim=0, dtype=torch.float32)}])

# Outputs of every form, and tensors with unusual layouts.
z = torch.randn(3, 4, dtype=torch.complex64)
nested = {"sum": logits.sum(), "pair": (logits.t(), 3), "none": None, "big": 2**70, "flag": True, "conj": z.conj(),
          "mask": logits > 0, "empty": torch.empty(0, 5), "wide": torch.ones(1).expand(6, 4)}
write("nested", "{'sum': args[0].sum(), 'pair': (args[0].t(), 3), 'none': None, 'big': 2**70, 'flag': True, 'conj': args[1].conj(), "
      "'mask': args[0] > 0, 'empty': torch.empty(0, 5), 'wide': torch.ones(1).expand(6, 4)}",
      [{"args": [logits, z], "kwargs": {}, "output": nested}])
