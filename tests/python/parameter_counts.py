"""Writes what `plimsoll estimate` needs to know about model families, and the counts for its tests.

    python tests/python/parameter_counts.py defaults   # src/diagnose/estimate/config/families/defaults.json
    python tests/python/parameter_counts.py counts     # tests/data/parameter-counts.jsonl
    python tests/python/parameter_counts.py adapters   # families/adapters.json and tests/data/adapter-counts.jsonl
    python tests/python/parameter_counts.py tree FAMILY [JSON]   # the parameters of a family, layers folded together

Needs torch, transformers, for adapters peft, and for Gemma 3n's tower timm and pillow. Models are built on the meta device from a configuration alone: no weights, no network.
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
RULES = ROOT / "src/diagnose/estimate/config/families/adapters.json"
ADAPTERS = ROOT / "tests/data/adapter-counts.jsonl"

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
    small = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
    DEFAULTS.write_text("{\n" + ",\n".join(f"{small(name)}:{small(names[name])}" for name in sorted(names)) + "\n}\n")
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


def rules():
    """What peft does by family: layers by default, old names of experts' matrices, layers that it refuses."""
    from peft.utils import constants
    from peft.utils import transformers_weight_conversion as conversion

    usual = constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    experts = {}
    for family, like in conversion._MODEL_TO_CONVERSION_PATTERN.items():
        names = {new: [] for new in ("gate_up_proj", "down_proj", "gate.weight")}
        for old, new in conversion._MOE_TARGET_MODULE_MAPPING.get(like, {}).items():
            names[new].append(old)
        if names["gate_up_proj"]:
            experts[family] = [*names["gate_up_proj"], *names["down_proj"], *names["gate.weight"]]
    refused = {family: sorted(MAMBA_REFUSED) for family in MAMBA}
    found = {"usual": {name: names for name, names in usual.items() if isinstance(names, list)}, "experts": experts, "refused": refused}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found))
    RULES.write_text("{\n" + rows + "\n}\n")


#: Families of state spaces on whose fused layers peft puts no adapter (`_check_lora_target_modules_mamba`).
MAMBA, MAMBA_REFUSED = ("falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h"), ("conv1d", "out_proj")


def adapted(config, adapter):
    """The parameters that peft trains, or why it refuses."""
    import peft

    try:
        model = peft.get_peft_model(build(config), peft.LoraConfig(**adapter))
    except ValueError as error:
        return {"refused": str(error)[:80]}
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return {"trained": trained}


def linear_names(config):
    """Last parts of the names of linear layers that are not the output layer."""
    from transformers.pytorch_utils import Conv1D

    model = build(config)
    output = model.get_output_embeddings()
    named = [name for name, module in model.named_modules() if isinstance(module, (torch.nn.Linear, Conv1D)) and module is not output]
    return sorted({name.rpartition(".")[2] for name in named if not name.rpartition(".")[2].isdigit()})


def adapters():
    rules()
    rows = []
    # The published ones of every family, the smallest first.
    published = {}
    for name, config in sorted(PUBLISHED, key=lambda pair: pair[1].get("num_hidden_layers", 99)):
        published.setdefault(config["model_type"], (name, config))
    cases = [(name, config) for name, config in published.values()]
    for family in FAMILIES:
        cases += [(f"{family}/{seed}", vary(family, random.Random(f"{family}/{seed}"))) for seed in range(2)]
    for name, config in cases:
        if config is None:
            continue
        dice = random.Random(f"adapter/{name}")
        names = linear_names(config)
        some = dice.sample(names, min(len(names), dice.randint(1, 4)))
        usual = {"r": dice.randint(1, 16)}
        every = {"r": dice.randint(1, 16), "target_modules": "all-linear"}
        chosen = {"r": dice.randint(1, 16), "target_modules": some, "use_dora": dice.random() < 0.3}
        llama = {"r": 8, "target_modules": "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()}
        for adapter in [usual, every, chosen, llama]:
            rows.append({"name": name, "config": config, "adapter": adapter, **adapted(config, adapter)})
    for family in "llama qwen3 gemma gpt2 opt granite".split():
        for seed in range(3):
            config = vary(family, random.Random(f"{family}/{seed}"))
            words = "wte" if family == "gpt2" else "embed_tokens"
            saved = {"r": 4, "target_modules": "all-linear", "modules_to_save": [words, "lm_head"][: seed + 1]}
            both = {"r": 3, "target_modules": [words, "lm_head"]}
            head = {"r": 2, "target_modules": "all-linear", "task_type": "SEQ_CLS"}
            kind = {"qwen3": "Qwen3", "gpt2": "GPT2", "opt": "OPT"}.get(family, family.capitalize())
            labelled = {**config, "architectures": [f"{kind}ForSequenceClassification"], "id2label": {"0": "A", "1": "B", "2": "C"}}
            labelled.pop("num_labels", None)
            for config, adapter in [(config, saved), (config, both), (labelled, head)]:
                if "architectures" not in config or hasattr(transformers, config["architectures"][0]):
                    rows.append({"name": f"{family}/{seed}", "config": config, "adapter": adapter, **adapted(config, adapter)})
    ADAPTERS.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    print(len(rows), "adapters,", sum("refused" in row for row in rows), "refused,", ADAPTERS.stat().st_size, "bytes")


def tree(family, config="{}"):
    model = build({"model_type": family, **json.loads(config)})
    folded = collections.Counter()
    for name, parameter in model.named_parameters():
        folded[re.sub(r"\.\d+(?=\.)", ".N", name), tuple(parameter.shape)] += 1
    print(type(model).__name__, sum(parameter.numel() for parameter in model.parameters()))
    for (name, shape), times in folded.items():
        print(f"  {times:4} {name} {list(shape)}")


if __name__ == "__main__":
    commands = {"defaults": defaults, "counts": counts, "adapters": adapters, "tree": tree}
    commands[sys.argv[1]](*sys.argv[2:])
