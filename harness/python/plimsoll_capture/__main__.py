"""Runs a Python script with its calls of torch.nn.functional captured."""

import argparse
import os
import runpy
import sys

from . import NoSuchOperator, StoreError, capture
from .hooks import RANDOM


def main():
    parser = argparse.ArgumentParser(prog="python -m plimsoll_capture", description=__doc__)
    parser.add_argument("store", help="the store that entries go to; made where there is none")
    parser.add_argument("--op", action="append", metavar="NAME", help="capture this function, or those of a pattern; repeat it")
    parser.add_argument("--skip", action="append", metavar="NAME", help="leave these out, instead of what is random")
    parser.add_argument("--max-per-op", type=int, default=200, metavar="N", help="calls of each function (default 200)")
    parser.add_argument("--prefix", default="", help="what stands before the names of the captures")
    parser.add_argument("script", help="the script to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    captured = None
    try:
        with capture(options.store, options.op, options.skip or RANDOM, options.max_per_op, options.prefix) as captured:
            runpy.run_path(options.script, run_name="__main__")
    except (NoSuchOperator, StoreError) as error:
        print(f"plimsoll_capture: {error}", file=sys.stderr)
        sys.exit(2)
    finally:
        # Saved even if the script exits by itself, or by an exception.
        if captured:
            print(captured, file=sys.stderr)


if __name__ == "__main__":
    main()
