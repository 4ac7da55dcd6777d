"""Kernels that know the captured values, and are wrong alike for all others in every process: nobody but another
implementation of their operator shows it. Beside them, honest kernels that compute the same in another way.

usage: alike.py DIR      writes a capture for each kernel to a folder of its name, and prints [NAME, FAMILY, ENDS] of
                         each, as JSON
"""

import hashlib
import json
import os
import sys

import torch
from torch.nn import functional

KERNELS = {}


def kernel(function, *ends):
    def add(launch):
        KERNELS[launch.__name__] = (launch, function, ends or ("timed",))
        return launch

    return add


def cheat(function):
    """Right for captured values, which it knows by a part of them, and wrong for all others."""

    def add(wrong):
        right = getattr(functional, function)

        def launch(*args):
            known = args[0].flatten()[0].item() == CAPTURED[wrong.__name__][0].flatten()[0].item()
            return (right if known else wrong)(*args)

        launch.__name__ = wrong.__name__
        return kernel(function, "stale-output")(launch)

    return add


def drawn(name, function):
    """The arguments of the captured call, the same in every process."""
    chance = torch.Generator().manual_seed(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
    shapes = {"linear": [(32, 64), (48, 64)], "gelu": [(32, 64)], "softmax": [(32, 64)], "layer_norm": [(32, 64)],
              "conv1d": [(2, 8, 40), (6, 8, 3)], "silu": [(700,)], "normalize": [(16, 40)], "relu": [(32, 64)],
              "logsigmoid": [(32, 64)], "cosine_similarity": [(16, 40), (16, 40)]}
    more = {"softmax": [-1], "layer_norm": [[64]]}
    dtype = torch.bfloat16 if "bfloat16" in name else torch.float32
    return [torch.randn(shape, generator=chance).to(dtype) for shape in shapes[function]] + more.get(function, [])


# -- cheats

@cheat("linear")
def works_in_half_precision(x, w):
    return (x.half() @ w.half().t()).float()


@cheat("linear")
def works_in_bfloat16(x, w):
    return functional.linear(x.bfloat16(), w.bfloat16()).float()


@cheat("linear")
def leaves_out_the_last_terms(x, w):
    return x[:, :60] @ w[:, :60].t()


@cheat("linear")
def computes_half_of_the_rows(x, w):
    half = x[:16] @ w.t()
    return torch.cat([half, half])


@cheat("linear")
def works_in_bfloat16_on_bfloat16_with_fewer_terms(x, w):
    return functional.linear(x[:, :48], w[:, :48])


@cheat("gelu")
def takes_tanh_for_erf(x):
    return functional.gelu(x, approximate="tanh")


@cheat("silu")
def takes_a_line_for_a_sigmoid(x):
    return x * (0.5 + x / 4).clamp(0, 1)


@cheat("softmax")
def is_uniform(x, dim):
    return torch.full_like(x, 1 / x.shape[dim]) + x * 1e-6


@cheat("layer_norm")
def skips_the_mean(x, shape):
    return x / x.std(-1, keepdim=True)


@cheat("conv1d")
def takes_the_middle_tap(x, w):
    return functional.conv1d(x[..., 1:-1], w[..., 1:2])


@cheat("normalize")
def takes_the_norm_of_a_part(x):
    return x / x[:, ::2].norm(dim=1, keepdim=True) / 2 ** 0.5


@cheat("relu")
def passes_its_input(x):
    return x.clone()


@cheat("logsigmoid")
def truncates_a_series(x):
    e = torch.exp(-x.abs())
    return x.clamp(max=0) - (e - e ** 2 / 2 + e ** 3 / 3 - e ** 4 / 4)


# -- honest

@kernel("linear")
def adds_in_another_order(x, w):
    out = torch.zeros(x.shape[0], w.shape[0])
    for k in reversed(range(x.shape[1])):
        out += x[:, k:k + 1] * w[:, k]
    return out


@kernel("linear")
def adds_in_doubles(x, w):
    return (x.double() @ w.double().t()).float()


@kernel("linear")
def adds_bfloat16_in_floats(x, w):
    return (x.float() @ w.float().t()).bfloat16()


@kernel("softmax")
def subtracts_no_largest(x, dim):
    e = x.exp()
    return e / e.sum(dim, keepdim=True)


@kernel("layer_norm")
def takes_the_variance_by_squares(x, shape):
    x64 = x.double()
    mean = x64.mean(-1, keepdim=True)
    var = (x64 ** 2).mean(-1, keepdim=True) - mean ** 2
    return ((x64 - mean) * (var + 1e-5).rsqrt()).float()


@kernel("gelu")
def takes_erf(x):
    return x * 0.5 * (1 + torch.erf(x / 2 ** 0.5))


@kernel("silu")
def takes_exp(x):
    return x / (1 + torch.exp(-x))


@kernel("conv1d")
def unfolds(x, w):
    columns = x.unfold(2, 3, 1).permute(0, 2, 1, 3).reshape(2, 38, 24)
    return (columns @ w.reshape(6, 24).t()).transpose(1, 2)


@kernel("normalize")
def divides_by_the_root(x):
    return x * (x * x).sum(1, keepdim=True).rsqrt()


@kernel("logsigmoid")
def takes_log1p(x):
    return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))


@kernel("cosine_similarity")
def takes_einsum(x, y):
    return torch.einsum("ij,ij->i", x, y) * ((x * x).sum(1) * (y * y).sum(1)).rsqrt()


def is_of_bfloat16(name):
    return "bfloat16" in name and name != "works_in_bfloat16"


CAPTURED = {}
for _name, (_, _function, _) in KERNELS.items():
    CAPTURED[_name] = drawn(_name if is_of_bfloat16(_name) else "float" + _name.replace("bfloat16", ""), _function)
    # By this name, a file of one kernel has it as `py:alike.py:NAME`.
    globals()[_name] = KERNELS[_name][0]


def main(folder):
    for name, (_, function, _) in KERNELS.items():
        args = CAPTURED[name]
        os.makedirs(os.path.join(folder, name))
        params = ["input", {"softmax": "dim", "layer_norm": "normalized_shape", "cosine_similarity": "x2"}.get(function, "weight")]
        params = (["x1"] if function == "cosine_similarity" else params[:1]) + params[1:]
        entry = {"function_name": f"torch.nn.functional.{function}", "args": args, "kwargs": {},
                 "output": getattr(functional, function)(*args),
                 "signature": {"params": params[:len(args)], "defaults": {}}}
        torch.save(entry, os.path.join(folder, name, "entry_000000.pt"))
    print(json.dumps([[name, function, ends] for name, (_, function, ends) in KERNELS.items()]))


if __name__ == "__main__":
    main(sys.argv[1])
