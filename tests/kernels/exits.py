"""Ends the process with code 3, without a word."""

import os


def launch(*args):
    os._exit(3)
