"""Writes what `plimsoll estimate` needs to know about model families, and the counts for its tests.

    python tests/python/parameter_counts.py defaults   # src/diagnose/estimate/config/families/defaults.json
    python tests/python/parameter_counts.py counts     # tests/data/parameter-counts.jsonl
    python tests/python/parameter_counts.py tree FAMILY [JSON]   # the parameters of a family, layers folded together

Needs torch, transformers, and for Gemma 3n's tower timm and pillow. Models are built on the meta device from a configuration alone: no weights, no network.
"""

import collections
import dataclasses
import json
import random
import re
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto as auto

transformers.logging.set_verbosity_error()

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = ROOT / "src/diagnose/estimate/config/families/defaults.json"
COUNTS = ROOT / "tests/data/parameter-counts.jsonl"

sys.path.insert(0, str(Path(__file__).parent))
from parameter_configs import FAMILIES, PUBLISHED, vary  # noqa: E402

#: Fields of a configuration that say nothing about parameters.
NOISE = re.compile(
    r"dropout|_token_id|token_index|^output_(?!dim)|use_cache|_eps$|epsilon|return_dict|initializer|_coef$|^norm_topk|is_encoder_d|"
    r"multiplier|softcap|_pdrop|^transformers_version|pretraining_tp|^mask_|^id2label|^label2id|^problem|chunk_size_feed|"
    r"time_step_(min|max|floor|scale|limit)|_jitter|(?<!scale)_factor$|scaling|theta|residual_in|rescale|_act$|_std$|^hidden_act|"
    r"activation_function|layerdrop|suppress|^begin_|^_|^dtype|^topk|^scale_(?!factor)|^summary|^use_(mamba|assoc|mem_eff)|(?<!qk_)rope|"
    r"^is_decoder|^classifier_(?!proj|bias)|^apply_spec|^contrastive|^ctc|^router_|^alibi"
)


def model_class(config, architecture=None):
    """The class that `architectures` names, otherwise the one with the family's usual training head."""
    if architecture:
        return getattr(transformers, architecture)
    name = config.model_type
    for mapping in (
        auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        auto.MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES,
        auto.MODEL_MAPPING_NAMES,
    ):
        if name in mapping:
            found = mapping[name]
            return getattr(transformers, found if isinstance(found, str) else found[0])
    raise SystemExit(f"no class for {name}")


def build(config):
    """The model of a `config.json` on the meta device."""
    fields = dict(config)
    name = fields.pop("model_type")
    architectures = fields.get("architectures")
    made = AutoConfig.for_model(name, **fields)
    # Encoders that serve as another kind's decoders get the head that the file names, or a masked one.
    if not architectures and name in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES and name in ENCODERS:
        architectures = [auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES[name]]
    with torch.device("meta"):
        return model_class(made, architectures[0] if architectures else None)(made)


ENCODERS = {"bert", "roberta", "xlm-roberta", "electra", "camembert", "distilbert", "albert", "deberta-v2", "modernbert"}


def count(config):
    return sum(parameter.numel() for parameter in build(config).parameters())


def plain(value):
    if isinstance(value, (bool, int, str)) or value is None:
        return True
    if isinstance(value, float):
        return value == value and abs(value) < 1e300
    return isinstance(value, (list, tuple)) and len(value) < 80 and all(plain(item) for item in value)


def class_defaults(config_class):
    fields = {}
    for field in dataclasses.fields(config_class):
        value = field.default
        if value is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if value is not dataclasses.MISSING and plain(value) and value is not None and not NOISE.search(field.name):
            fields[field.name] = value
    base = {field.name for field in dataclasses.fields(transformers.PreTrainedConfig)}
    return {name: value for name, value in sorted(fields.items()) if name not in base or name == "tie_word_embeddings"}


def defaults():
    names, todo, unnamed = {}, list(FAMILIES), {}
    while todo:
        name = todo.pop()
        if name in names:
            continue
        if name in unnamed:
            config_class = unnamed[name]
        else:
            config_class = type(AutoConfig.for_model(name)) if name not in BROKEN else transformers.CONFIG_MAPPING[name]
        names[name] = class_defaults(config_class)
        parts = getattr(config_class, "sub_configs", None) or {}
        for part, part_class in parts.items():
            kind = getattr(part_class, "model_type", "")
            # Parts without a fixed kind get the family's default kind.
            try:
                kind = getattr(AutoConfig.for_model(name), part).model_type or kind
            except Exception:
                pass
            if not kind:
                # Named by what they are part of.
                kind = f"{name}_{part.removesuffix('_config')}"
                unnamed[kind] = part_class
            if kind:
                names[name][part] = {"model_type": kind}
                todo.append(kind)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(names[name], sort_keys=True)}" for name in sorted(names))
    DEFAULTS.write_text("{\n" + rows + "\n}\n")
    print(len(names), "families,", DEFAULTS.stat().st_size, "bytes")


#: Parts of models, which are refused.
PARTS = {"MllamaForCausalLM"}
#: Mappings of tasks to classes: what `architectures` may name.
TASKS = [name for name in dir(auto) if name.startswith("MODEL") and name.endswith("MAPPING_NAMES")]


def architectures(family):
    """The classes that a configuration of `family` may name in `architectures`."""
    found = set()
    for task in TASKS:
        named = getattr(auto, task).get(family, ())
        found.update([named] if isinstance(named, str) else named)
    return sorted(name for name in found if hasattr(transformers, name) and name not in PARTS)


BROKEN = {"nemotron", "hunyuan_v1_dense", "hunyuan_v1_moe", "dbrx", "dots1", "lfm2_moe", "ministral"}


def counts():
    rows, failed = [], []
    for name, config in PUBLISHED:
        rows.append({"name": name, "config": config, "parameters": count(config)})
    for family in FAMILIES:
        for seed in range(4):
            config = vary(family, random.Random(f"{family}/{seed}"))
            if config is None:
                continue
            try:
                rows.append({"name": f"{family}/{seed}", "config": config, "parameters": count(config)})
            except Exception as error:
                failed.append((family, seed, str(error)[:160]))
    for family in FAMILIES:
        for at, architecture in enumerate(architectures(family)):
            config = vary(family, random.Random(f"{family}/head/{at}"))
            if config is None:
                continue
            labels = at % 5 + 1
            config.pop("num_labels", None)
            config.update({"architectures": [architecture], "id2label": {str(label): f"LABEL_{label}" for label in range(labels)}})
            try:
                rows.append({"name": f"{family}/{architecture}", "config": config, "parameters": count(config)})
            except Exception as error:
                failed.append((family, architecture, str(error)[:160]))
    COUNTS.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    print(len(rows), "rows,", COUNTS.stat().st_size, "bytes")
    for failure in failed:
        print("not built:", *failure)


def tree(family, config="{}"):
    model = build({"model_type": family, **json.loads(config)})
    folded = collections.Counter()
    for name, parameter in model.named_parameters():
        folded[re.sub(r"\.\d+(?=\.)", ".N", name), tuple(parameter.shape)] += 1
    print(type(model).__name__, sum(parameter.numel() for parameter in model.parameters()))
    for (name, shape), times in folded.items():
        print(f"  {times:4} {name} {list(shape)}")


if __name__ == "__main__":
    commands = {"defaults": defaults, "counts": counts, "tree": tree}
    commands[sys.argv[1]](*sys.argv[2:])
