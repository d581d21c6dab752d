#!/usr/bin/env python3
"""Tokens that the tiny T5 chooses, as JSON, with weights and prompt of tiny_tokens.py.

    python3 peers/pytorch/tiny_tokens_t5.py > peers/pytorch/tiny_tokens_t5.json

Every token is chosen by a pass of the real class over all tokens before it, without a cache: generate() of transformers
5.23 makes one of as many layers as the encoder has, and stops where the decoder has more. `margin` as in tiny_tokens.py.
"""
import json
import sys

import torch
import transformers

from peer_models import model_row
from tiny_losses import mix
from tiny_tokens import BATCH, NEW_TOKENS, SEQ


def fill(model):
    norm_weights = {id(module.weight) for module in model.modules() if "Norm" in type(module).__name__}
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            k = torch.arange(parameter.numel())
            values = 0.7 * mix(k + 1000003 * index + 2777) + (id(parameter) in norm_weights)
            parameter.copy_(values.view(parameter.shape))


def choose(attention):
    _, kind, _, config = model_row("tiny-t5")
    config.use_cache = False
    model = kind._from_config(config, attn_implementation=attention).eval()
    fill(model)
    ids = ((7 * torch.arange(BATCH * SEQ) + 3) % config.vocab_size).view(BATCH, SEQ)
    tokens, margin = torch.full((BATCH, 1), config.decoder_start_token_id), float("inf")
    with torch.no_grad():
        for _ in range(NEW_TOKENS):
            best = model(input_ids=ids, decoder_input_ids=tokens).logits[:, -1].topk(2)
            margin = min(margin, (best.values[:, 0] - best.values[:, 1]).min().item())
            tokens = torch.cat([tokens, best.indices[:, :1]], dim=1)
    return {"attention": attention, "margin": margin, "tokens": tokens.tolist()}


def main():
    torch.set_num_threads(1)
    head = {"torch": torch.__version__, "transformers": transformers.__version__}
    json.dump({"versions": head, "batch": BATCH, "seq": SEQ, "new_tokens": NEW_TOKENS,
               "rows": [choose(attention) for attention in ("sdpa", "eager")]}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
