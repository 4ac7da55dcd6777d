"""Forks; parent and child both come back with the right output."""

import os

import torch


def launch(*args):
    os.fork()
    return torch.nn.functional.embedding(*args)
