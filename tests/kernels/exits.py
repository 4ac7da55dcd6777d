"""Ends the process with code 3, without a message."""

import os


def launch(*args):
    os._exit(3)
