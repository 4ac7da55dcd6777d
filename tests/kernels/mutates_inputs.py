"""Writes zeros over every input tensor after it has computed the right output."""

import torch


def launch(*args):
    output = torch.nn.functional.embedding(*args)
    for tensor in args:
        if isinstance(tensor, torch.Tensor):
            tensor.zero_()
    return output
