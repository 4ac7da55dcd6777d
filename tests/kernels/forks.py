"""Forks; parent and child both return the right output."""

import os

import torch


def launch(*args):
    os.fork()
    return torch.nn.functional.embedding(*args)
