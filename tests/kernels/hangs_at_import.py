"""Waits for what never comes when it is imported."""

import threading


# Nobody sets it.
threading.Event().wait()


def launch(input, weight, *rest):
    return weight[input]
