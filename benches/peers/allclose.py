"""The peer for comparison: torch.allclose on two tensors of 256 MiB that differ a little, on one thread.

usage: allclose.py
Prints a line a dtype: its name and the best rate of three in GB/s over both operands.
"""
import time, torch

torch.set_num_threads(1)
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    n = 256 * 2**20 // dtype.itemsize
    a = torch.rand(n, generator=torch.Generator().manual_seed(0)).to(dtype)
    b = a * 1.001
    rates = []
    for _ in range(3):
        t = time.perf_counter()
        assert torch.allclose(a, b, rtol=1e-1, atol=1e-2)
        rates.append(2 * a.nbytes / (time.perf_counter() - t) / 1e9)
    print(str(dtype).removeprefix("torch."), f"{max(rates):.2f}")
