"""Closes standard input, output and error, and returns the right output."""

import os

import torch


def launch(*args):
    os.closerange(0, 3)
    return torch.nn.functional.embedding(*args)
