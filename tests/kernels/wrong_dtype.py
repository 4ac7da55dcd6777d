"""The right values in float32."""

import torch


def launch(*args):
    return torch.nn.functional.embedding(*args).float()
