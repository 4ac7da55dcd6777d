"""The right shape and dtype, and NaN in one element."""

import torch


def launch(*args):
    output = torch.nn.functional.embedding(*args)
    output.view(-1)[output.numel() // 2] = float("nan")
    return output
