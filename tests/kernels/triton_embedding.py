"""An embedding in Triton, for a GPU: right on every entry of an embedding capture. With TRITON_INTERPRET=1 it runs on
the CPU."""

import torch
import triton
import triton.language as tl


BLOCK = 1024


@triton.jit
def gather(index, table, out, row, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64)
    words = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(index + at)
    tl.store(out + at * row + words, tl.load(table + source * row + words, mask=words < row), mask=words < row)


def launch(input, weight, *options):
    out = torch.empty((*input.shape, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    grid = input.numel(), triton.cdiv(weight.shape[1], BLOCK)
    gather[grid](input.contiguous(), weight.contiguous(), out, weight.shape[1], BLOCK=BLOCK)
    return out
