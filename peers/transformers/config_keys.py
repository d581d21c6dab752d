#!/usr/bin/env python3
"""Writes models/config/config_keys.c: the keys of a config.json that the real configuration classes know, type by type.

    config_keys.py PYTHON5 PYTHON4 >models/config/config_keys.c
    config_keys.py --defaults PYTHON5 >tests/models/golden/config_defaults.jsonl

PYTHON5 and PYTHON4 are interpreters that have transformers 5 and 4 (torch is not needed): aliases and defaults are those
of the first, and keys that either writes are known, because files outlive the release that wrote them. Needs clang-format.
"""

import json
import subprocess
import sys
import textwrap

TYPES = """bert bloom convnext deepseek_v2 deepseek_v3 distilbert falcon gemma gemma2 gemma3_text gpt2 gpt_neo gpt_neox llama mistral
mixtral opt phi3 qwen2 qwen2_moe qwen3 qwen3_moe roberta t5 vit xlm-roberta""".split()

# What stands in published files and neither release names: what releases before them wrote, what quantisers, the hub and other
# libraries add, and keys of code that a repository brings along.
OLDER = """_num_labels adapters attention_type auto_map directionality finetuned_from gradient_checkpointing model_name n_ctx
output_past pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type
predict_special_tokens quantization_config static_position_embeddings unk_token_id unsloth_fixed unsloth_version
use_mrope""".split()
OLDER_OF_TYPES = {
    "bloom": """attention_softmax_in_fp32 bias_dropout_fusion masked_softmax_fusion n_inner offset_alibi seq_length
        skip_bias_add skip_bias_add_qkv""",
    "deepseek_v2": "aux_loss_alpha ep_size moe_layer_freq scoring_func seq_aux",
    "deepseek_v3": "aux_loss_alpha ep_size moe_layer_freq scoring_func seq_aux topk_method",
    "distilbert": "tie_weights_",
    "falcon": "apply_residual_connection_post_layernorm",
    "gemma2": "hidden_act",
    "gemma3_text": "hidden_act",
    "gpt_neo": """summary_activation summary_first_dropout summary_proj_to_labels summary_type
        summary_use_proj""",
    "gpt_neox": "attention_dropout_prob hidden_dropout_prob",
    "llama": "is_llama_config rope_interleaved",
    "opt": "activation_dropout",
    "phi3": "attention_bias",
    "qwen3_moe": "head_dim max_window_layers",
    "t5": "n_positions",
}

# What stands in older files of rope_scaling, and in quantization_config of other writers of the same methods.
OLDER_ROPE = "factor finetuned mrope_interleaved mrope_section rope_theta rope_type type".split()
OLDER_QUANTIZATION = "fmt ignored_layers _load_in_4bit _load_in_8bit quant_method".split()

# save_config_for_hf of timm 1.0.31
TIMM = """architecture num_classes num_features global_pool pretrained_cfg model_args label_names label_descriptions
license library_name""".split()

# Runs in the other interpreter and prints what its classes know.
PROBE = r'''
import dataclasses, inspect, json, re, sys
import transformers
import transformers.configuration_utils as base
from transformers import GenerationConfig, PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

def parameters(cls):
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return [name for name in inspect.signature(cls.__init__).parameters if name not in ("self", "kwargs")]

def popped(source):
    return re.findall(r"kwargs(?:\.pop|\.get)?[(\[]\s*[\"']([a-z_]+)[\"']", source)

def plain(value):
    value = list(value) if isinstance(value, tuple) else value
    return value if isinstance(value, (bool, int, float, str, list, type(None))) else None

common = set(parameters(PretrainedConfig)) | set(PretrainedConfig().to_dict()) | set(GenerationConfig().to_dict())
common |= set(popped(inspect.getsource(getattr(PretrainedConfig, "__post_init__", PretrainedConfig.__init__))))
if hasattr(base, "RotaryEmbeddingConfigMixin"):
    common |= set(popped(inspect.getsource(base.RotaryEmbeddingConfigMixin.convert_rope_params_to_dict)))
import transformers.modeling_rope_utils as rope
rope_source = inspect.getsource(rope)
rope_keys = set(getattr(getattr(rope, "RopeParameters", None), "__annotations__", {}))
for names in re.findall(r"(?:required_keys|optional_keys)[^=\n]*= ?{([^}]*)}", rope_source):
    rope_keys |= set(re.findall(r"[a-z_]+", names))
rope_keys |= set(re.findall(r"(?:rope_parameters|rope_scaling)[^\n(\[]*(?:\.get\(|\[)[\"']([a-z_]+)[\"']", rope_source))

from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING
quantization_keys = set()
for cls in AUTO_QUANTIZATION_CONFIG_MAPPING.values():
    quantization_keys |= set(inspect.signature(cls.__init__).parameters) - {"self", "kwargs"}
    quantization_keys |= set(parameters(cls)) | set(popped(inspect.getsource(cls)))
    quantization_keys |= set(re.findall(r"self\.([a-z][a-z_0-9]*) *(?::[^=\n]*)?=", inspect.getsource(cls)))

types = {}
for name in sys.argv[1:]:
    cls = CONFIG_MAPPING[name]
    fields = parameters(cls)
    made = cls()
    known = set(fields) | set(made.to_dict()) | set(cls.attribute_map) | set(cls.attribute_map.values())
    known |= set(popped(inspect.getsource(cls)))
    # Fields are set first and all other keys behind them: of two names of one attribute the one that is no field wins.
    aliases = {}
    for one, other in cls.attribute_map.items():
        aliases.update({one: other} if one not in fields else {other: one})
    types[name] = {"class": cls.__name__, "keys": sorted(known), "aliases": aliases,
                   "defaults": {key: plain(getattr(made, key)) for key in fields}}
json.dump({"version": transformers.__version__, "common": sorted(common), "types": types,
           "rope": sorted(rope_keys), "quantization": sorted(quantization_keys)}, sys.stdout)
'''


def probe(python):
    done = subprocess.run([python, "-c", PROBE, *TYPES], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def identifier(name):
    return name.replace("-", "_")


def words(name, keys):
    """One text, every key between spaces."""
    lines = textwrap.wrap(" ".join(sorted(keys)), 100)
    return f"static const char {name}[] =\n" + "\n".join(f'    " {line} "' for line in lines) + ";\n"


def table(newer, older):
    common = set(newer["common"]) | set(older["common"]) | set(OLDER)
    text = f"""/* Configuration keys: what peers/transformers/config_keys.py found in the configuration classes of transformers
 * {newer["version"]} and {older["version"]}. Not to be edited by hand. */
#include "models/config/config_keys.h"

#include <stddef.h>

/* Of every configuration. */
"""
    text += words("common_keys", common) + "\n/* Of timm's files. */\n" + words("timm_keys", TIMM) + "\n"
    text += "/* Within rope_parameters and rope_scaling, and within quantization_config. */\n"
    text += words("rope_keys", set(newer["rope"]) | set(older["rope"]) | set(OLDER_ROPE))
    text += words("quantization_keys", set(newer["quantization"]) | set(older["quantization"]) | set(OLDER_QUANTIZATION))
    text += "\n"
    rows = ""
    for name, found in newer["types"].items():
        keys = (set(found["keys"]) | set(older["types"].get(name, {"keys": []})["keys"])) - common
        keys |= set(OLDER_OF_TYPES.get(name, "").split())
        text += words(identifier(name) + "_keys", keys)
        aliases = "no_aliases"
        if found["aliases"]:
            aliases = identifier(name) + "_aliases"
            pairs = ", ".join(f'{{"{one}", "{other}"}}' for one, other in sorted(found["aliases"].items()))
            text += f"static const struct config_alias {aliases}[] = {{{pairs}, {{NULL, NULL}}}};\n"
        rows += f'{{"{name}", "{found["class"]}", {identifier(name)}_keys, {aliases}}},\n'
    text = text.replace("/* Of every configuration. */", "static const struct config_alias no_aliases[] = {{NULL, NULL}};\n\n"
                        "/* Of every configuration. */")
    text += f"\nstatic const struct config_keys types[] = {{\n{rows}}};\n"
    text += """
const char *config_common_keys(void)
{
    return common_keys;
}

const char *config_timm_keys(void)
{
    return timm_keys;
}

const char *config_rope_keys(void)
{
    return rope_keys;
}

const char *config_quantization_keys(void)
{
    return quantization_keys;
}

const struct config_keys *config_keys_at(size_t index)
{
    return index < sizeof types / sizeof types[0] ? &types[index] : NULL;
}
"""
    return subprocess.run(["clang-format", "--style=file"], input=text, check=True, capture_output=True, text=True).stdout


def defaults(newer):
    lines = [json.dumps({"transformers": newer["version"]})]
    for name, found in newer["types"].items():
        lines.append(json.dumps({"model_type": name, "class": found["class"], "aliases": found["aliases"],
                                 "defaults": found["defaults"]}))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first = sys.argv[1]
    sys.stdout.write(defaults(probe(sys.argv[2])) if first == "--defaults" else table(probe(first), probe(sys.argv[2])))
