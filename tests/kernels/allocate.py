"""Allocates and touches memory without end, 64 MiB at a time."""

import torch


def launch(*args):
    kept = []
    while True:
        kept.append(torch.ones(64 << 20, dtype=torch.uint8))
