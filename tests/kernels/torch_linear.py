import torch


def launch(input, weight, bias):
    return torch.nn.functional.linear(input, weight, bias)
