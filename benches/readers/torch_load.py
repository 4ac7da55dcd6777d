"""The tensors that torch.load reads from the files of a folder: for each file `[[shape, sha256], ..]`, or the error.

    python benches/readers/torch_load.py FOLDER > torch.json
"""

import json
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/python"))

import torch  # noqa: E402
from corpus_truth import Truth  # noqa: E402


def load(path):
    try:
        # As torch loads by default: only classes that are known to be harmless.
        truth = Truth(torch.load(path, weights_only=True)).document()
    except Exception as error:
        return str(error).splitlines()[0]
    return [[tensor["shape"], tensor["sha256"]] for tensor in truth["tensors"] if tensor.get("sha256")]


def main():
    warnings.filterwarnings("ignore")
    sys.setrecursionlimit(10_000)
    folder = pathlib.Path(sys.argv[1])
    print(json.dumps({path.name: load(path) for path in sorted(folder.iterdir()) if path.suffix != ".json"}))


if __name__ == "__main__":
    main()
