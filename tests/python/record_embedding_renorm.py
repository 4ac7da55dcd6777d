"""Records results of torch.nn.functional.embedding with max_norm, for the tests of `builtin:embedding`.

usage: record_embedding_renorm.py > tests/data/embedding_renorm.jsonl     (torch 2.11 on x86-64)
One JSON object a line: the table and the gathered rows as hexadecimal little-endian bytes; indices are 2, 0, 2, 1 of
three rows. A `transposed` table is stored column by column, so that its rows have gaps.
"""

import json

import torch

INDICES = [2, 0, 2, 1]


def hexadecimal(tensor):
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes().hex()


def record(dtype, columns, transposed, max_norm, norm_type, table):
    table = table.to(dtype)
    stored = table.t().contiguous() if transposed else table
    weight = stored.clone().t() if transposed else stored.clone()
    output = torch.nn.functional.embedding(torch.tensor(INDICES), weight, max_norm=max_norm, norm_type=norm_type)
    print(json.dumps({"dtype": str(dtype).removeprefix("torch."), "columns": columns, "transposed": transposed,
                      "max_norm": max_norm, "norm_type": str(float(norm_type)), "table": hexadecimal(stored),
                      "output": hexadecimal(output)}))


generator = torch.Generator().manual_seed(0)
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    for norm_type in (2.0, 0.0, 1.0, 2.5, 3.0, -1.5, float("inf"), float("-inf")):
        for columns in (1, 3, 7, 8, 23, 40) if norm_type == 2.0 else (13,):
            for transposed in (False, True):
                table = torch.rand(3, columns, generator=generator, dtype=torch.float64) * 2 - 1
                # The first row keeps its values if the norm allows it, the others do not.
                table[0] /= 16
                record(dtype, columns, transposed, 0.3, norm_type, table)
    special = torch.tensor([[float("nan"), 1.0, 2.0], [0.0, -0.0, 0.0], [float("inf"), 1.0, float("-inf")]])
    for norm_type in (2.0, 0.0, 1.0, 3.0, float("inf"), float("-inf")):
        record(dtype, 3, False, 0.5, norm_type, special)
        record(dtype, 3, False, -1.0, norm_type, special)
