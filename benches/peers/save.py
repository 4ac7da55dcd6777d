"""The peer for `plimsoll generate`: torch.save of ready tensors.

usage: save.py OUT_DIR DIVISOR
Saves one entry of each table of the gemma4-e2b capture four times and prints the rate in GB/s.
"""
import os, sys, time, torch

out, div = sys.argv[1], int(sys.argv[2])
os.makedirs(out, exist_ok=True)
tables = [torch.zeros(262144, width // div, dtype=torch.bfloat16) for width in (1536, 8960)]
entries = [{"kwargs": {"input": torch.zeros(1, 128, dtype=torch.int64), "weight": table}, "output": table[:128].clone()}
           for table in tables]
t = time.perf_counter()
for i in range(8):
    torch.save(entries[i % 2], f"{out}/entry_{i:06d}.pt")
seconds = time.perf_counter() - t
print(f"{sum(os.path.getsize(f'{out}/{f}') for f in os.listdir(out)) / seconds / 1e9:.2f}")
