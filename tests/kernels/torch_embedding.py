"""PyTorch's own embedding: right on every entry of an embedding capture."""

import torch


def launch(*args):
    return torch.nn.functional.embedding(*args)
