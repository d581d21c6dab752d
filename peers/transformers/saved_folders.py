#!/usr/bin/env python3
"""Writes tests/models/saved: model files as transformers itself saves them, small enough to be kept, and what they are.

    saved_folders.py tests/models/saved

A folder for each model: model.safetensors as save_pretrained wrote it, in bfloat16, and told.json, the configuration that it
was made of, under another name: a test tells these models from their tensors alone and compares. Numbers that no tensor
tells (experts for each token, groups) are those that the classes have by default, or a model of that kind on the hub.
Needs torch and transformers.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

DECODER = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 3, "max_position_embeddings": 32, "intermediate_size": 20}
QWEN = {**DECODER, "num_attention_heads": 2, "num_key_value_heads": 1, "moe_intermediate_size": 8}
DEEPSEEK = {**DECODER, "num_attention_heads": 4, "num_key_value_heads": 4, "moe_intermediate_size": 8, "kv_lora_rank": 12,
            "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "first_k_dense_replace": 1}
FALCON = {"vocab_size": 24, "num_hidden_layers": 2, "model_type": "falcon"}
MODELS = {
    "qwen2-moe": {**QWEN, "model_type": "qwen2_moe", "num_experts": 6, "shared_expert_intermediate_size": 12},
    "qwen2-moe-dense": {**QWEN, "model_type": "qwen2_moe", "num_experts": 6, "shared_expert_intermediate_size": 12,
                        "mlp_only_layers": [0, 2]},
    "qwen3-moe": {**QWEN, "model_type": "qwen3_moe", "num_experts": 10, "head_dim": 8},
    "qwen3-moe-step": {**QWEN, "model_type": "qwen3_moe", "num_experts": 10, "head_dim": 8, "decoder_sparse_step": 2},
    "deepseek-v2": {**DEEPSEEK, "model_type": "deepseek_v2", "n_routed_experts": 8, "n_shared_experts": 2, "q_lora_rank": 10,
                    "num_experts_per_tok": 6},
    "deepseek-v2-lite": {**DEEPSEEK, "model_type": "deepseek_v2", "n_routed_experts": 8, "n_shared_experts": 2,
                         "q_lora_rank": None, "num_experts_per_tok": 6},
    "deepseek-v3": {**DEEPSEEK, "model_type": "deepseek_v3", "n_routed_experts": 16, "n_shared_experts": 1, "q_lora_rank": 10},
    "falcon-7b": {**FALCON, "hidden_size": 24, "num_attention_heads": 3},
    "falcon-40b": {**FALCON, "hidden_size": 128, "num_attention_heads": 2, "num_kv_heads": 1, "ffn_hidden_size": 16,
                   "new_decoder_architecture": True},
    "falcon-rw": {**FALCON, "hidden_size": 64, "num_attention_heads": 1, "ffn_hidden_size": 16, "alibi": True, "bias": True,
                  "multi_query": False, "parallel_attn": False},
    "convnext": {"model_type": "convnext", "hidden_sizes": [4, 6, 8, 10], "depths": [1, 1, 2, 1], "num_labels": 3},
}


def main():
    place = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    for name, values in MODELS.items():
        config = AutoConfig.for_model(**values)
        factory = AutoModelForCausalLM if "vocab_size" in values else transformers.AutoModelForImageClassification
        model = factory.from_config(config).to(torch.bfloat16)
        folder = place / name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as made:
            model.save_pretrained(made)
            shutil.copyfile(pathlib.Path(made) / "model.safetensors", folder / "model.safetensors")
            told = json.loads((pathlib.Path(made) / "config.json").read_text())
        (folder / "told.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
