"""PyTorch's own embedding, which at its second launch looks up rows that the table does not have: on a GPU an assertion fails
there, and nothing more can be done with the device in the process."""

import torch

launches = 0


def launch(input, weight, *options):
    global launches
    launches += 1
    return torch.nn.functional.embedding(input + weight.shape[0] * (launches == 2), weight, *options)
