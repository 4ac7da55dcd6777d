"""Closes every descriptor, including those of the worker."""

import os

import torch


def launch(*args):
    os.closerange(0, 1024)
    return torch.nn.functional.embedding(*args)
