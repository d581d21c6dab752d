#!/usr/bin/env python3
"""Writes random configurations beside what the real classes make of them: keys left out, null, under the other names of
attribute_map, with keys of other classes, and with values that a class derives by itself.

    random_configs.py >tests/models/golden/random_configs.jsonl

Needs torch, transformers, timm and accelerate, whose versions the first line has; models are built on the meta device. One
line a configuration: the file, parameters and bytes of buffers of AutoModel and of the class with its head, and which
layers slide. What a class refuses is left out, and so are the switches that this program refuses by name (REFUSED).
"""

import dataclasses
import json
import logging
import random
import sys

import timm
import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from compare_skeletons import HEADS

COUNT = 8  # of each type
SEED = 31

SIZES = {
    "vocab": [90, 128, 1000],
    "hidden": [32, 64, 96],
    "layers": [1, 2, 3, 7],
    "heads": [2, 4, 8],
    "head_dim": [8, 16, 32],
    "inner": [24, 48, 100],
    "positions": [40, 64],
    "experts": [4, 8],
    "few": [1, 2],
}
# What a key counts. Keys that are not here keep their default or are no sizes.
KINDS = {
    "vocab": "vocab_size",
    "hidden": "hidden_size dim d_model n_embd n_embed",
    "layers": "num_hidden_layers n_layer n_layers num_layers num_decoder_layers",
    "heads": "num_attention_heads n_head n_heads num_heads num_key_value_heads num_kv_heads",
    "head_dim": "head_dim d_kv qk_nope_head_dim qk_rope_head_dim v_head_dim",
    "inner": """intermediate_size hidden_dim d_ff n_inner ffn_dim ffn_hidden_size moe_intermediate_size
        shared_expert_intermediate_size q_lora_rank kv_lora_rank word_embed_proj_dim pooler_output_size""",
    "positions": "max_position_embeddings n_positions window_size sliding_window original_max_position_embeddings",
    "experts": "num_experts n_routed_experts num_local_experts relative_attention_num_buckets max_window_layers",
    "few": """num_experts_per_tok n_shared_experts n_group topk_group type_vocab_size decoder_sparse_step
        first_k_dense_replace num_ln_in_parallel_attn sliding_window_pattern""",
}
KIND_OF = {key: kind for kind, keys in KINDS.items() for key in keys.split()}
WORDS = {
    "hidden_act": ["gelu", "silu", "relu"],
    "hidden_activation": ["gelu_pytorch_tanh", "silu"],
    "activation": ["gelu", "relu"],
    "activation_function": ["gelu_new", "relu"],
    "feed_forward_proj": ["relu", "gated-gelu", "gated-silu", "gelu"],
    "dense_act_fn": ["relu", "gelu_new", "silu"],
    "topk_method": ["greedy", "group_limited_greedy"],
    "mlp_only_layers": [[], [0], [0, 1]],
    "tie_word_embeddings": [True, False],
    "pad_token_id": [0, 1, -1],
    "image_size": [32, 64],
    "patch_size": [4, 8],
    "num_channels": [1, 3],
    "id2label": [{"0": "a", "1": "b", "2": "c"}],
    "num_labels": [1, 2, 3],
}
# Refused by name, because their modules are not modelled; or said to change nothing that is weighed.
REFUSED = """return_dict output_hidden_states use_cache use_sliding_window rope_interleave norm_topk_prob is_decoder
    add_cross_attention output_router_logits use_bidirectional_attention is_encoder_decoder rope_parameters
    reorder_and_upcast_attn scale_attn_by_inverse_layer_idx _remove_final_layer_norm pooler_act sinusoidal_pos_embds
    layer_norm_elementwise_affine attention_types num_stages depths hidden_sizes layer_types chunk_size_feed_forward
    num_mtp_layers num_nextn_predict_layers embedding_size slow_but_exact""".split()
# Keys that classes read without declaring them, or derive: a file may have them beside its own.
FOREIGN = """head_dim num_key_value_heads intermediate_size attention_bias mlp_bias qkv_bias num_experts num_local_experts
    is_gated_act dense_act_fn n_inner n_embed num_hidden_layers hidden_size max_window_layers sliding_window
    sliding_window_pattern num_decoder_layers scale_decoder_outputs qk_head_dim num_labels id2label""".split()


def value_of(key, default, rng):
    if key in KIND_OF:
        return rng.choice(SIZES[KIND_OF[key]])
    if key in WORDS:
        return rng.choice(WORDS[key])
    return rng.choice([True, False]) if isinstance(default, bool) or key.endswith("_bias") or key.startswith("is_") else None


def random_config(cls, rng):
    fields = {field.name: (str(field.type), field.default) for field in dataclasses.fields(cls)}
    names = {field: alias for alias, field in cls.attribute_map.items()}
    names |= {field: alias for alias, field in cls.attribute_map.items() if field in fields}
    made, config = cls(), {"model_type": cls.model_type}
    foreign = [key for key in FOREIGN if key not in fields and rng.random() < 0.08]
    for key in [*fields, *foreign]:
        default = getattr(made, key, None)
        is_size = key in KIND_OF
        if key in REFUSED or not (is_size or key in WORDS or isinstance(default, bool) or key in FOREIGN):
            continue
        roll = rng.random()
        is_layers = KIND_OF.get(key) == "layers"
        if roll < (0.02 if is_layers else 0.12 if is_size else 0.6):
            continue
        name = names[key] if key in names and rng.random() < 0.3 else key
        nullable = key in fields and "None" in fields[key][0]
        if roll > 0.93 and nullable:
            config[name] = None
        else:
            value = value_of(key, default, rng)
            if value is not None:
                config[name] = value
        if name != key and rng.random() < 0.2:
            config[key] = value_of(key, default, rng)
    if cls.model_type == "gpt_neo":  # it has one kind for each layer
        config["attention_types"] = [[["global"], config.get("num_hidden_layers", config.get("num_layers", 24))]]
    heads = next((config[key] for key in ("num_attention_heads", "num_heads", "n_head") if key in config), None)
    for key in ("num_key_value_heads", "num_kv_heads"):
        if heads and (config.get(key) or made.to_dict().get(key)):  # others are made and cannot run
            least = None if "None" in fields.get(key, "None")[0] else 1
            config[key] = heads if "kv_lora_rank" in fields else rng.choice([heads, 2, least])
    if cls.model_type == "gpt_neox":
        config.pop("head_dim", None)  # of its rotary table alone, which then does not fit
    return config


def run(model, config):
    """Raises what the class raises on four tokens, or on one image; what the meta device cannot do counts as done."""
    given = {"input_ids": torch.zeros(1, 4, dtype=torch.int64, device="meta")}
    if config.model_type == "t5":
        given["decoder_input_ids"] = given["input_ids"]
    if config.model_type in ("vit", "convnext"):
        given = {"pixel_values": torch.zeros(1, config.num_channels, config.image_size, config.image_size, device="meta")}
    try:
        model(**given)
    except Exception as error:
        if not any(word in str(error) for word in ("meta", "dynamic", "data-dependent")):
            raise


def weight_of(model):
    seen = {id(p): p for p in model.parameters()}
    return {"class": type(model).__name__,
            "parameters": sum(p.numel() for p in seen.values()),
            "buffer_bytes": sum(b.numel() * b.element_size() for b in model.buffers())}


def weigh(make, config, runs):
    with torch.device("meta"):
        model = make(config)
    if runs:
        run(model, config)
    return weight_of(model)


def answer(cls, head, given, runs=True):
    """None where the class refuses the configuration, or cannot run with it."""
    try:
        line = {"config": given}
        line["bare"] = weigh(transformers.AutoModel.from_config, cls.from_dict(json.loads(json.dumps(given))), runs)
        line["head"] = weigh(head.from_config, cls.from_dict(json.loads(json.dumps(given))), runs)
        config = cls.from_dict(json.loads(json.dumps(given)))
        types = getattr(config, "layer_types", None)
        line["sliding"] = [i for i, kind in enumerate(types) if kind == "sliding_attention"] if types else None
        return line
    except Exception as error:  # the real class's own checks are of many kinds
        print(f"refused: {cls.__name__}: {type(error).__name__}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
        return None


def refused_here(config):
    """What the class makes and this program refuses by name: a head of which an odd number of elements is turned, and a
    padding token behind the last position."""
    turned = config.get("hidden_size", 6144) // config.get("num_attention_heads", 64) // 4
    is_odd = config["model_type"] == "gpt_neox" and (turned < 2 or turned % 2 == 1)
    return is_odd or (config["model_type"] in ("roberta", "xlm-roberta") and (config.get("pad_token_id") or 0) < 0)


def same_weight(one, other):
    return one["bare"] == other["bare"] and one["head"] == other["head"]


def type_lines(cls, head, rng):
    """The class's own defaults, random ones, and the last of them with each foreign key that changes what it weighs."""
    tried, lines = 0, [answer(cls, head, {"model_type": cls.model_type}, runs=False)]
    while len(lines) <= COUNT and tried < 20 * COUNT:
        tried += 1
        line = answer(cls, head, random_config(cls, rng))
        lines += [line] if line is not None else []
    fields = {field.name for field in dataclasses.fields(cls)}
    plain = {key: value for key, value in lines[-1]["config"].items() if key not in FOREIGN or key in fields}
    base = answer(cls, head, plain)
    for key in FOREIGN:
        if base is None or key in fields or (cls.model_type == "gpt_neox" and key == "head_dim"):
            continue
        line = answer(cls, head, plain | {key: value_of(key, None, rng)}, runs=False)
        lines += [line] if line is not None and not same_weight(line, base) else []
    return lines


def timm_lines():
    """timm's models without a classifier: num_classes 0."""
    for name in ("resnet18", "vgg11", "vit_tiny_patch16_224", "regnety_002"):
        with torch.device("meta"):
            weight = weight_of(timm.create_model(name, num_classes=0))
        yield {"config": {"architecture": name, "num_classes": 0}, "bare": weight, "head": weight, "sliding": None}


def main():
    logging.disable(logging.CRITICAL)
    print(json.dumps({"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "timm": timm.__version__,
                      "seed": SEED}))
    for model_type, head in HEADS.items():
        for line in type_lines(CONFIG_MAPPING[model_type], head, random.Random(f"{SEED} {model_type}")):
            if not refused_here(line["config"]):
                print(json.dumps(line))
    for line in timm_lines():
        print(json.dumps(line))


if __name__ == "__main__":
    main()
