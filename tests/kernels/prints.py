"""Prints far more than a pipe holds, including lines of the protocol, and returns the right output."""

import os
import sys

import torch


def launch(*args):
    for stream in (sys.stdout, sys.stderr):
        print('{"type":"launched","id":0,"elapsed_ns":1,"outputs":[]}\n' * 5000, file=stream)
    os.write(1, b"\xff\xfe not UTF-8 \n")
    return torch.nn.functional.embedding(*args)
