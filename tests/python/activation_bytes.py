"""Writes what PyTorch keeps for the backward pass of model families, measured without a GPU.

    python tests/python/activation_bytes.py families   # src/diagnose/estimate/config/families/activations.json
    python tests/python/activation_bytes.py sizes      # tests/data/activation-bytes.jsonl
    python tests/python/activation_bytes.py show FAMILY PRECISION ATTENTION   # what one family keeps

Needs torch built for CUDA and transformers, but no GPU: tensors have shapes and no values (FakeTensorMode), and the bytes
of the storages that are alive after the forward pass are summed. On an H200, 24 trainings kept
the same to within 2.2 %: tests/data/activations-h200.jsonl.
"""

import contextlib
import dataclasses
import inspect
import json
import multiprocessing
import os
import random
import sys
import warnings
import weakref
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy
import torch
import torch.nn.functional as functional
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from transformers import AutoConfig, AutoModelForCausalLM, masking_utils
from transformers.integrations import moe

transformers.logging.set_verbosity_error()
# Tensors without values are taken for a compilation, in which masks are always built.
masking_utils.is_tracing = lambda *_: False
masking_utils.find_packed_sequence_indices = lambda _: None

sys.path.insert(0, str(Path(__file__).parent))
from parameter_configs import PUBLISHED  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src/diagnose/estimate/config/families/activations.json"
SIZES = ROOT / "tests/data/activation-bytes.jsonl"

#: Decoders without experts.
FAMILIES = """
apertus arcee bitnet bloom cohere cohere2 cwm ernie4_5 exaone4 gemma gemma2 gemma3_text glm glm4 gpt2
gpt_bigcode gpt_neo gpt_neox gptj granite hunyuan_v1_dense llama ministral3 mistral nemotron olmo olmo2 olmo3
opt persimmon phi phi3 qwen2 qwen3 seed_oss smollm3 stablelm starcoder2 vaultgemma
""".split()
#: Decoders with experts in every layer, none of which is shared.
EXPERTS = "gpt_oss granitemoe minimax_m2 mixtral olmoe qwen3_moe".split()
PRECISIONS = ("fp32", "bf16", "mixed")


class Live(TorchDispatchMode):
    """The bytes of the storages that are alive."""

    def __init__(self, others):
        super().__init__()
        self.bytes, self.known = 0, {storage._cdata: 0 for storage in others}

    def see(self, storage):
        key, size = storage._cdata, storage.nbytes()
        if key not in self.known:
            self.known[key] = size
            self.bytes += size
            weakref.finalize(storage, self.end, key)

    def end(self, key):
        self.bytes -= self.known.pop(key, 0)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in tree_iter(out):
            if isinstance(tensor, torch.Tensor):
                self.see(tensor.untyped_storage())
        return out


@contextlib.contextmanager
def autocast(on):
    """torch.autocast("cuda", torch.bfloat16), which does nothing on a machine without a GPU."""
    was = torch.is_autocast_enabled("cuda")
    torch.set_autocast_enabled("cuda", on)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", was)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The kernel that PyTorch chooses on a GPU: FlashAttention in 16 bits without a mask, the memory-efficient one if
    keys have as many heads as queries, otherwise the plain formula."""
    if torch.is_autocast_enabled("cuda"):
        q, k, v = (tensor.to(torch.bfloat16) for tensor in (q, k, v))
    aten, rest = torch.ops.aten, {"scale": scale}
    with autocast(False):
        if q.dtype != torch.float32 and attn_mask is None and q.shape[-1] <= 256 and q.shape[-1] == v.shape[-1]:
            return aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, False, **rest)[0]
        if q.shape[1] == k.shape[1]:
            mask = attn_mask
            if mask is not None and mask.dtype == torch.bool:
                mask = torch.zeros_like(mask, dtype=q.dtype)
            mask = mask if mask is None else mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
            return aten._scaled_dot_product_efficient_attention(q, k, v, mask, True, dropout_p, is_causal, **rest)[0]
        rest["enable_gqa"] = enable_gqa
        return aten._scaled_dot_product_attention_math(q, k, v, attn_mask, dropout_p, is_causal, None, **rest)[0]


functional.scaled_dot_product_attention = attention
# torch's own product of experts checks for a GPU, and has a form for 16 bits alone without one.
torch.cuda.get_device_capability = lambda *_: (9, 0)
grouped = moe._can_use_grouped_mm
moe._can_use_grouped_mm = lambda tensor, weight, offs: weight.dtype == torch.bfloat16 and grouped(tensor, weight, offs)


def kept(config, batch, sequence, precision, how, checkpointing=False):
    """The bytes that a training step keeps after its forward pass, without parameters and their gradients."""
    fields = dict(config)
    made = AutoConfig.for_model(fields.pop("model_type"), **fields)
    made.use_cache = False
    with FakeTensorMode(allow_non_fake_inputs=True):
        with torch.device("cuda"):
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            model = AutoModelForCausalLM.from_config(made, dtype=dtype, attn_implementation=how)
        model.train()
        if checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        tokens = torch.zeros(batch, sequence, dtype=torch.long, device="cuda")
        own = [tensor.untyped_storage() for tensor in (*model.parameters(), *model.buffers(), tokens)]
        with Live(own) as live, autocast(precision == "mixed"):
            # The loss holds what the backward pass needs.
            loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
            return live.bytes


#: Layers after which the kinds of layers repeat.
PERIOD = {"gemma2": 2, "vaultgemma": 2, "cohere2": 4, "olmo3": 4, "exaone4": 4, "cwm": 4, "gemma3_text": 6, "gpt_neo": 2, "gpt_oss": 2, "smollm3": 4}
SEQUENCES = (128, 192, 256)
#: What is kept per head, such as the logarithms of FlashAttention's sums, per token, such as a norm's statistics, and per
#: expert, such as the router's values: a thousandth of the rest.
SMALL = ("a", "one", "experts", "active")

#: Families whose heads are as wide as their number leaves it.
DIVIDED = {"gpt2", "gpt_neox", "opt", "bloom"}
#: Families whose layers read a width of heads and compute with the hidden width alone.
SQUARE = {"bitnet", "olmoe", "persimmon", "stablelm"}


def model_class(family):
    return transformers.MODEL_FOR_CAUSAL_LM_MAPPING[transformers.CONFIG_MAPPING[family]]


def shape(family, dice, grouped):
    """A small configuration, and its widths: hidden, queries, keys, MLP, heads, vocabulary."""
    known = {field.name for field in dataclasses.fields(transformers.CONFIG_MAPPING[family])}
    heads = dice.choice([4, 8])
    # Whether the width of heads is a setting, of the configuration or of the layers alone.
    source = inspect.getsource(inspect.getmodule(model_class(family)))
    own = "head_dim" in known or 'getattr(config, "head_dim"' in source and family not in SQUARE
    head = dice.choice([32, 64]) if own or family in DIVIDED else 32
    hidden = dice.choice([128, 256, 384]) if own else heads * head
    groups = dice.choice([1, 2]) if grouped else heads
    ffn = 64 * dice.randint(3, 12)
    words = 64 * dice.randint(3, 40)
    drawn = {
        "hidden_size": hidden, "n_embd": hidden, "d_model": hidden, "n_embed": hidden, "num_attention_heads": heads,
        "n_head": heads, "n_heads": heads, "num_heads": heads, "num_key_value_heads": groups, "num_kv_heads": groups,
        "head_dim": head, "intermediate_size": ffn, "ffn_dim": ffn, "n_inner": ffn, "ffn_hidden_size": ffn,
        "vocab_size": words, "word_embed_proj_dim": hidden, "sliding_window": 4096, "window_size": 4096, "rotary_dim": 16,
    }
    count, active = (dice.choice([4, 8]), dice.choice([1, 2, 4])) if family in EXPERTS else (0, 0)
    if family in EXPERTS:
        drawn |= {"num_experts": count, "num_local_experts": count, "num_experts_per_tok": active, "moe_intermediate_size": ffn}
    config = {"model_type": family, **{name: value for name, value in drawn.items() if name in known}}
    config["pad_token_id"] = 0
    if own:
        config["head_dim"] = head
    made = AutoConfig.for_model(family, **{k: v for k, v in config.items() if k != "model_type"})
    inner = next((int(getattr(made, name)) for name in ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size") if getattr(made, name, None)), None)
    inner = inner or 4 * hidden
    if family in EXPERTS:
        inner = active * ffn
    if "num_key_value_heads" not in known and "num_kv_heads" not in known:
        groups = heads
    if family == "gpt_bigcode":
        groups = 1
    head = config.get("head_dim", hidden // heads)
    return config, (hidden, heads * head, groups * head, inner, heads, words, active, count)


def with_layers(config, count):
    known = {field.name for field in dataclasses.fields(transformers.CONFIG_MAPPING[config["model_type"]])}
    names = [name for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers") if name in known]
    more = {"attention_types": [[["global", "local"], count // 2]]} if config["model_type"] == "gpt_neo" else {}
    return {**config, **{name: count for name in names}, **more}


def per_token(config, sequence, *rest):
    # From two sequences on: with one, some copies are views.
    return (kept(config, 3, sequence, *rest) - kept(config, 2, sequence, *rest)) / sequence


def fitted(rows, values, names):
    """Whole numbers of bytes by width: the fewest names first, so that equal columns are not both used."""
    values = numpy.array(values)
    table = numpy.array(rows, dtype=float)
    chosen = []
    for at in range(len(names)):
        if numpy.linalg.matrix_rank(table[:, [*chosen, at]]) > len(chosen):
            chosen.append(at)
    found = numpy.linalg.lstsq(table[:, chosen], values, rcond=None)[0]
    found = numpy.round(found * 2) / 2
    worst = float(numpy.max(numpy.abs(table[:, chosen] @ found / numpy.maximum(values, 1) - 1)))
    if any(value < 0 and names[at] not in SMALL for at, value in zip(chosen, found)):
        worst = 1.0
    return {names[at]: float(value) for at, value in zip(chosen, found) if value and names[at] not in SMALL}, worst


def layer_and_rest(config, name, sequence, *rest):
    """What one layer keeps for a token, and what is kept outside of the layers."""
    period = PERIOD.get(name, 1)
    short, long = (per_token(with_layers(config, count), sequence, *rest) for count in (period, 2 * period))
    layer = (long - short) / period
    return layer, short - layer * period


def family(name, precision, how):
    """What a layer keeps per token, a layer with checkpointing, and what is kept outside of layers."""
    grouped = how.endswith("grouped")
    how = how.split("-")[0]
    dice = random.Random(f"{name}/{precision}/{how}")
    each, again, outside, widths, ends, masks = [], [], [], [], [], []
    for at in range(16 if name in EXPERTS else 10):
        config, (hidden, query, key, inner, heads, words, active, experts) = shape(name, dice, grouped)
        sequence = SEQUENCES[at % 3]
        layer, rest = layer_and_rest(config, name, sequence, precision, how)
        each.append(layer)
        outside.append(rest)
        widths.append((hidden, inner, query, key, heads * sequence, active * hidden, heads, 1, experts, active))
        ends.append((hidden, words, 1))
        if at < 3:
            layer, with_mask = layer_and_rest(config, name, sequence, precision, how, True)
            again.append(layer)
            masks.append((with_mask - rest) / sequence)
    layer, off = fitted(widths, each, ("h", "ffn", "q", "kv", "as", "kh", *SMALL))
    ends, off_ends = fitted(ends, outside, ("h", "v", "one"))
    inputs, off_inputs = fitted([row[:1] for row in widths[: len(again)]], again, ("h",))
    # Layers that are computed again share one mask.
    mask = round(2 * float(numpy.median(masks))) / 2
    inputs |= {"s": mask} if mask > 0 else {}
    return {"layer": layer, "checkpoint": inputs, "outside": ends}, max(off, off_ends, off_inputs)


def ways(name, precision):
    made = transformers.CONFIG_MAPPING[name]
    some = "num_key_value_heads" in made.__dataclass_fields__
    yield "eager", "eager-grouped" if some else "eager"
    if precision == "fp32" and some:
        yield "sdpa", "sdpa-grouped"
        yield "sdpa-ungrouped", "sdpa"
    else:
        yield "sdpa", "sdpa-grouped" if some else "sdpa"


def measured(name):
    """The rows of a family, and what could not be measured."""
    rows, failed = {}, []
    for precision in PRECISIONS:
        for way, how in ways(name, precision):
            try:
                found, off = family(name, precision, how)
            except Exception as error:
                failed.append(f"{name} {precision} {way}: {type(error).__name__}: {str(error)[:120]}")
                continue
            if off > 0.02:
                failed.append(f"{name} {precision} {way}: off by {off:.1%}: {found}")
                continue
            rows.setdefault(precision, {})[way] = found
    return name, rows, failed


def families(*only):
    table = json.loads(TABLE.read_text()) if only else {}
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for name, rows, failed in pool.imap_unordered(measured, only or FAMILIES + EXPERTS):
            print(name, *failed, sep="\n  ", flush=True)
            if rows:
                table[name] = rows
    small = json.JSONEncoder(separators=(",", ":")).encode
    rows = ",\n".join(f"{small(name)}:{small(table[name])}" for name in sorted(table))
    # The package has a limit: whole numbers need no fraction.
    TABLE.write_text("{\n" + rows.replace(".0,", ",").replace(".0}", "}") + "\n}\n")
    print(len(table), "families,", TABLE.stat().st_size, "bytes")


def size(case):
    """A case with its bytes; those that do not grow with the batch, such as masks and converted weights, are left out."""
    name, config, batch, sequence, precision, how, checkpointing = case
    row = {"name": name, "config": config, "batch": batch, "sequence": sequence, "precision": precision, "attention": how, "checkpointing": checkpointing}
    try:
        two, three = (kept(config, count, sequence, precision, how, checkpointing) for count in (2, 3))
    except Exception as error:
        return {**row, "error": f"{type(error).__name__}: {str(error)[:120]}"}
    return {**row, "kept": (three - two) * batch}


def sizes():
    """Random configurations of each family, and published ones."""
    measured_families = json.loads(TABLE.read_text())
    cases = []
    for family in measured_families:
        dice = random.Random(f"sizes/{family}")
        for at in range(6):
            config, _ = shape(family, dice, grouped=at % 2 == 0)
            config = with_layers(config, PERIOD.get(family, 1) * dice.randint(1, 3))
            way = dice.choice([how for how in ("eager", "sdpa") if any(how in row for row in measured_families[family].values())])
            cases.append((f"{family}/{at}", config, 4, 32 * dice.randint(2, 9), PRECISIONS[at % 3], way, at == 5))
    for at, (name, config) in enumerate(PUBLISHED):
        known = measured_families.get(config["model_type"])
        if known and "text_config" not in config:
            way = "sdpa" if any("sdpa" in row for row in known.values()) else "eager"
            cases += [(name, config, 2, 2048, precision, way, at % 2 == 1) for precision in PRECISIONS]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        rows = pool.map(size, cases, chunksize=1)
    for row in rows:
        if "error" in row:
            print(row["name"], row["error"])
    rows = [row for row in rows if "error" not in row]
    SIZES.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    print(len(rows), "rows,", SIZES.stat().st_size, "bytes")


def show(name, precision, how):
    print(*family(name, precision, how))


if __name__ == "__main__":
    commands = {"families": families, "sizes": sizes, "show": show}
    commands[sys.argv[1]](*sys.argv[2:])
