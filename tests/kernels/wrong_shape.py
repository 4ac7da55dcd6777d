"""The right values, in a shape without the leading dimension."""

import torch


def launch(*args):
    return torch.nn.functional.embedding(*args).flatten(0, 1)
