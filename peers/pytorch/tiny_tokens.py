#!/usr/bin/env python3
"""Tokens that tiny models with known weights generate, as JSON: transformers' generate(), really computed on the CPU.

    python3 peers/pytorch/tiny_tokens.py > peers/pytorch/tiny_tokens.json

Weights, in the order of named_parameters() (a tied tensor counts once); i is the parameter's place in that order, k the
place of an element in it, row-major: w(i, k) = 0.7 * mix(k + 1000003 * i + 2777), plus 1 for the weights of norms; mix as
in tiny_losses.py. Prompt: id[k] = (7 * k + 3) mod vocabulary over the flattened (batch, seq). float32, no end-of-sequence
token. `margin`: the smallest distance of a chosen logit to the next one, to tell a tie from a mistake; of beams it is
the distance of the best sequence's score to that of the second.
"""
import importlib.metadata
import json
import sys

import torch
import transformers

from peer_models import MODELS
from tiny_losses import mix

BATCH, SEQ, NEW_TOKENS, BEAMS = 2, 8, 12, 3
QUANTIZED, BEYOND_RESIDUAL = ("fp8", "int4", "int2"), 132  # QuantizedCache keeps up to 127 tokens as they came


def fill(model):
    norm_weights = {id(module.weight) for module in model.modules()
                    if isinstance(module, torch.nn.LayerNorm) or "RMSNorm" in type(module).__name__}
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            k = torch.arange(parameter.numel())
            values = 0.7 * mix(k + 1000003 * index + 2777) + (id(parameter) in norm_weights)
            parameter.copy_(values.view(parameter.shape))


def generate(name, attention, beams, new_tokens=NEW_TOKENS, **settings):
    _, kind, _, config = MODELS["tiny/" + name]
    config.use_cache = True
    model = kind._from_config(config, attn_implementation=attention).eval()
    fill(model)
    model.generation_config.eos_token_id = None
    ids = ((7 * torch.arange(BATCH * SEQ) + 3) % config.vocab_size).view(BATCH, SEQ)
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, do_sample=False,
                         num_beams=beams, num_return_sequences=min(beams, 2), pad_token_id=0, output_scores=True,
                         return_dict_in_generate=True, disable_compile=True, **settings)
    if beams > 1:
        scores = out.sequences_scores.view(BATCH, 2)
        return out.sequences.view(BATCH, 2, -1)[:, 0].tolist(), (scores[:, 0] - scores[:, 1]).min().item()
    gaps = [(step.topk(2).values[:, 0] - step.topk(2).values[:, 1]).min().item() for step in out.scores]
    return out.sequences.tolist(), min(gaps)


def quantized(name, attention, beams, dtype, new_tokens=NEW_TOKENS):
    """Over a QuantizedCache of fp8 or of quanto's integers. Other beams than the greedy one leave the scale of fp8, which is
    that of the prompt, and become NaN."""
    config = {"backend": "fp8"} if dtype == "fp8" else {"backend": "quanto", "nbits": int(dtype[3:])}
    tokens, margin = generate(name, attention, beams, new_tokens, cache_implementation="quantized", cache_config=config)
    return {"cache_dtype": dtype, "new_tokens": new_tokens, "margin": margin, "tokens": tokens}


def rows():
    for name in ("gpt2", "llama", "llama-gqa", "qwen2"):
        for attention in ("sdpa", "eager"):
            for beams in (1, BEAMS):
                tokens, margin = generate(name, attention, beams)
                fixed, _ = generate(name, attention, beams, cache_implementation="static")
                yield {"model": "tiny/" + name, "attention": attention, "beams": beams, "margin": margin,
                       "tokens": tokens, "tokens_static": fixed,
                       "tokens_quantized": [quantized(name, attention, beams, dtype)
                                            for dtype in (QUANTIZED if beams == 1 else QUANTIZED[1:])]}
    for dtype in QUANTIZED:
        yield {"model": "tiny/llama-gqa", "attention": "eager", "beams": 1,
               "tokens_quantized": [quantized("llama-gqa", "eager", 1, dtype, BEYOND_RESIDUAL)]}


def main():
    torch.set_num_threads(1)
    head = {"torch": torch.__version__, "transformers": transformers.__version__,
            "optimum-quanto": importlib.metadata.version("optimum-quanto")}
    json.dump({"versions": head, "batch": BATCH, "seq": SEQ, "new_tokens": NEW_TOKENS, "rows": list(rows())},
              sys.stdout)
    print()


if __name__ == "__main__":
    main()
