"""torch.allclose on the tensors of benches/compare.rs, one thread: GB/s over both operands, and the peak of its temporaries.

    python benches/peers/allclose.py [MiB]
"""

import resource
import sys
import time

import torch

torch.set_num_threads(1)
size = int(sys.argv[1] if len(sys.argv) > 1 else 256) << 20
for dtype, rtol in [(torch.float16, 1e-3), (torch.bfloat16, 1.6e-2), (torch.float32, 1.3e-6)]:
    expected = (torch.rand(size // dtype.itemsize) * 4 - 2).to(dtype)
    bits = torch.int32 if dtype.itemsize == 4 else torch.int16
    near = (expected.view(bits) ^ 1).view(dtype)
    for name, actual in [("equal", expected.clone()), ("near", near)]:
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            torch.allclose(actual, expected, rtol=rtol, atol=1e-5)
            seconds.append(time.perf_counter() - start)
        print(f"{str(dtype).removeprefix('torch.')}/{name}: {2 * size / min(seconds) / 1e9:.2f} GB/s")
print(f"peak RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
