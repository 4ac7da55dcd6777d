"""Closes every descriptor, those of the worker among them."""

import os

import torch


def launch(*args):
    os.closerange(0, 1024)
    return torch.nn.functional.embedding(*args)
