"""Captures a transformer block, a convolutional network and single calls of other functions into FOLDER/store, by hooks
on torch.nn.functional.

usage: capture_operators.py FOLDER
"""
import os
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "harness", "python"))
from plimsoll_capture import capture  # noqa: E402


class Block(torch.nn.Module):
    """A transformer block between its embedding and its loss."""

    def __init__(self, width=32, heads=4, words=64):
        super().__init__()
        self.heads = heads
        self.words = torch.nn.Embedding(words, width, padding_idx=-1)
        self.norm, self.last = torch.nn.LayerNorm(width), torch.nn.RMSNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width)
        self.up, self.gate, self.down = (torch.nn.Linear(a, b) for a, b in [(width, 64), (width, 64), (64, width)])
        self.head = torch.nn.Linear(width, words)

    def forward(self, tokens):
        x = self.words(tokens)
        split = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*split, is_causal=True)
        scores = F.softmax(split[0] @ split[1].transpose(-1, -2), dim=-1)
        x = x + self.out((mixed + scores @ split[2]).transpose(1, 2).flatten(2))
        x = x + self.down(F.gelu(self.up(x), approximate="tanh") * F.silu(self.gate(x)))
        logits = self.head(self.last(x))
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), label_smoothing=0.1), F.log_softmax(logits, -1)


class Network(torch.nn.Module):
    """Convolutions down and up again."""

    def __init__(self):
        super().__init__()
        self.down = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.side = torch.nn.Conv2d(8, 8, (3, 1), padding="same", groups=2)
        self.up = torch.nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.batch, self.group = torch.nn.BatchNorm2d(8).eval(), torch.nn.GroupNorm(2, 4)
        self.instance = torch.nn.InstanceNorm2d(4)

    def forward(self, image):
        x = F.relu(self.batch(self.down(F.pad(image, (1, 0, 2, 1), mode="reflect"))))
        x = torch.sigmoid(x) + F.sigmoid(x) + F.tanh(self.side(x))
        x = self.instance(self.group(self.up(F.max_pool2d(x, 2) + F.avg_pool2d(x, 2, ceil_mode=False))))
        grid = F.affine_grid(torch.eye(2, 3).repeat(len(x), 1, 1) * 0.9, list(x.shape), align_corners=False)
        x = F.grid_sample(x, grid, mode="bicubic", padding_mode="border", align_corners=True)
        x = F.interpolate(x, scale_factor=1.5, mode="bilinear") + F.interpolate(x, scale_factor=1.5, mode="nearest")
        return F.adaptive_avg_pool2d(x, (None, 2)), F.adaptive_max_pool2d(x, 3), F.normalize(x)


def calls():
    """Functions that neither model calls, in each form that Python distinguishes."""
    one, two, three = torch.randn(2, 4, 9), torch.randn(2, 4, 8, 6), torch.randn(2, 4, 5, 6, 7)
    F.conv1d(one, torch.randn(6, 4, 3), torch.randn(6), 2, 1)
    F.conv3d(three, torch.randn(2, 4, 2, 3, 2), stride=(1, 2, 1), padding=1)
    F.conv_transpose1d(one, torch.randn(4, 3, 4), stride=2, output_padding=1)
    F.conv_transpose3d(three, torch.randn(4, 2, 2, 2, 2))
    F.max_pool1d(one, 3, stride=1, padding=1)
    F.max_pool2d(two, kernel_size=2, return_indices=True)
    F.max_pool3d(three, 2)
    F.avg_pool1d(one, 2)
    F.avg_pool3d(three, (1, 2, 2))
    F.adaptive_avg_pool1d(one, 4)
    F.adaptive_avg_pool3d(three, (2, None, 3))
    F.adaptive_max_pool1d(one, 4, return_indices=True)
    F.adaptive_max_pool3d(three, 2)
    for input, mode in [(one, "linear"), (three, "trilinear"), (two, "bicubic"), (two, "area"), (two, "nearest-exact")]:
        F.interpolate(input, scale_factor=2, mode=mode)
    F.interpolate(two, size=(5, 7), mode="bilinear", align_corners=True)
    F.interpolate(two, scale_factor=0.7, recompute_scale_factor=True)
    F.interpolate(two, size=3, mode="bicubic", antialias=True)
    F.one_hot(torch.tensor([[3, 0], [1, 2]]), num_classes=5)
    F.cross_entropy(torch.randn(5, 7), torch.randn(5, 7).softmax(1), reduction="none")
    F.nll_loss(torch.randn(5, 7), torch.arange(5), ignore_index=2)
    F.mse_loss(one, one + 1, reduction="sum")
    F.embedding(torch.tensor([[0, 2]]), torch.randn(3, 4, dtype=torch.bfloat16))
    F.batch_norm(two, None, None, training=True)
    F.layer_norm(one, [4, 9], torch.randn(4, 9), torch.randn(4, 9))
    F.gelu(one.half())
    F.softmax(one, dim=1, dtype=torch.float64)
    F.grid_sample(three, torch.rand(2, 2, 3, 4, 3) * 2 - 1, align_corners=False)
    F.pad(one, (1, 2), value=3.5)
    F.scaled_dot_product_attention(two, two, two, attn_mask=torch.randn(8, 8), scale=0.3)
    F.leaky_relu(one, 0.2), F.elu(one), F.hardtanh(one), F.relu6(one), F.mish(one), F.hardswish(one), F.glu(one, 1)
    F.unfold(two, 2), F.fold(torch.randn(2, 16, 35), (8, 6), 2)
    F.pixel_shuffle(two, 2), F.cosine_similarity(one, one.flip(0)), F.logsigmoid(one)
    # Without a signature a positional argument has no name, whatever other calls pass by name.
    F.conv_transpose3d(three, torch.randn(4, 2, 2, 2, 2), torch.randn(2), 2, (0, 1, 1))
    F.conv_transpose3d(three, torch.randn(4, 2, 2, 2, 2), torch.randn(2), stride=2, groups=1)
    F.max_pool1d(one, 3, 1, 1), F.max_pool1d(one, 2, 2, ceil_mode=True), F.avg_pool1d(one, 3, 2, 1, True, False)
    F.pad(torch.tensor([True, False]), (1, 2), value=True)
    F.dropout2d(two, 0.3, False), F.grouped_mm(torch.randn(3, 4, 8).bfloat16(), torch.randn(3, 8, 16).bfloat16())
    for pool, unpool, input in [(F.max_pool2d, F.max_unpool2d, two), (F.max_pool3d, F.max_unpool3d, three[..., :4, :6, :6])]:
        pooled, indices = pool(input, 2, return_indices=True)
        unpool(pooled, indices, 2), unpool(pooled, indices, 2, output_size=input.shape)
    F.fractional_max_pool2d(two, 2, (3, 4), _random_samples=torch.rand(2, 4, 2), return_indices=True)
    F.fractional_max_pool3d(three, 2, 2, _random_samples=torch.rand(2, 4, 3))
    F.upsample_nearest(two, (3, 5)), F.upsample_bilinear(two, scale_factor=1.5)
    bags = torch.tensor([1, 2, 4, 5, 4, 3]), torch.randn(7, 3), torch.tensor([0, 2, 2])
    F.embedding_bag(*bags), F.embedding_bag(*bags, mode="max"), F.embedding_bag(*bags, mode="sum", padding_idx=4)
    F.embedding_bag(*bags, mode="sum", per_sample_weights=torch.randn(6), include_last_offset=True)


def main():
    torch.manual_seed(0)
    with torch.no_grad(), capture(f"{sys.argv[1]}/store", skip=()):
        Block()(torch.randint(0, 63, (2, 11)))
        Network()(torch.randn(2, 3, 14, 17))
        calls()


if __name__ == "__main__":
    main()
