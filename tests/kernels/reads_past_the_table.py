"""PyTorch's own embedding, whose second launch looks up rows beyond the table: on a GPU an assertion fails, and the
device cannot be used in the process any more."""

import torch

launches = 0


def launch(input, weight, *options):
    global launches
    launches += 1
    return torch.nn.functional.embedding(input + weight.shape[0] * (launches == 2), weight, *options)
