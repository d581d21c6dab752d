#!/usr/bin/env python3
"""Losses and gradient norms of tiny models with weights that anybody can recompute, as JSON.

    python3 peers/pytorch/tiny_losses.py > peers/pytorch/tiny_losses.json
    python3 peers/pytorch/tiny_losses.py tiny-regnet > peers/pytorch/tiny_losses_regnet.json
    python3 peers/pytorch/tiny_losses.py --heads > peers/pytorch/tiny_losses_heads.json

Weights, in the order of named_parameters() (a tied tensor counts once, under its first name); i is the parameter's
place in that order, k the place of an element in it, row-major:
    w(i, k) = 0.02 * sin(0.37 * k.double() + 1.3 * i);  1 + w(i, k) for the weights of layer, RMS and batch norms.
The weights of more than one dimension of ResNet and RegNet have no pattern instead, because sinusoids leave its convolutions with
outputs so flat that batch normalisation magnifies rounding errors (loss and gradients then differ in the first digit):
    w(i, k) = 0.1 * (mix((k + 1000003 * i) mod 2^32) / 2^32 - 0.5);  pixel[k] = 2 * (mix(k) / 2^32 - 0.5)
with mix(x), MurmurHash3's 32-bit finalizer: x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16.
Tokens: id[k] = (7 * k + 3) mod vocabulary over the flattened (batch, seq), and they are their own labels.
Of heads of tasks the labels are others: label[k] = k mod classes of a sequence or a token, and of answers
first[k] = (3 * k + 1) mod seq, last[k] = (5 * k + 2) mod seq. A padding token is named that no token is.
Other images: pixel[k] = sin(0.01 * k); label[k] = k mod classes. Batch norms are in training mode; dropout is 0.
The formulas are evaluated in float64 and rounded once. The model computes in float32 on the CPU ("loss", "gradients":
Euclidean norms) and, to show how much of the last digits is rounding, in float64 ("loss_float64"; rotary tables, RMS
norms and the eager softmax of some models stay float32 there, because the models say so).
A rectifier whose input is zero but for rounding lets a gradient jump, so that of RegNet two results are no measure of what rounding
does: "gradients_rounding" is the farthest from "gradients" of 24 runs in float32 whose weights were changed by 2^-24 of themselves
at the most.
"""
import json
import os
import sys

import timm
import torch
import transformers

from peer_models import MODELS, TASKS, TINY_FOLDER, model_row

BATCH, SEQ = 2, 8
TEXT = ("bert", "gpt2", "llama", "llama-gqa", "qwen2")
CONVOLUTIONS = {"resnet18": 64, "tiny-regnet": 32}  # the side of the images


def mix(x):
    """MurmurHash3's 32-bit finalizer of every element, as a number in [-0.5, 0.5)."""
    x = x & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = (x * 0x85EBCA6B) & 0xFFFFFFFF
    x = x ^ (x >> 13)
    x = (x * 0xC2B2AE35) & 0xFFFFFFFF
    x = x ^ (x >> 16)
    return x.double() / 2**32 - 0.5


def fill(model, patternless):
    norms = (torch.nn.LayerNorm, torch.nn.BatchNorm2d)
    norm_weights = {id(module.weight) for module in model.modules()
                    if isinstance(module, norms) or "RMSNorm" in type(module).__name__}
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            k = torch.arange(parameter.numel())
            if patternless and parameter.dim() > 1:
                parameter.copy_(0.1 * mix(k + 1000003 * index).view(parameter.shape))
                continue
            values = 0.02 * torch.sin(0.37 * k.double() + 1.3 * index)
            if id(parameter) in norm_weights:
                values += 1
            parameter.copy_(values.view(parameter.shape))


HEADS = ("bert#sequence", "bert#token", "bert#question", "roberta#sequence", "roberta#token", "gpt2#sequence",
         "gpt2#question", "llama#sequence", "llama#question", "llama-gqa#sequence", "qwen2#sequence")


def build_task(name, head):
    _, kind, _, config = model_row(name if name.startswith("tiny-") else "tiny/" + name)
    config.use_cache = False
    if config.pad_token_id is None:
        config.pad_token_id = next(k for k in range(config.vocab_size) if k not in task_ids(config).flatten().tolist())
    return TASKS[head]._model_mapping[type(config)]._from_config(config, attn_implementation="eager")


def task_ids(config):
    return ((7 * torch.arange(BATCH * SEQ) + 3) % config.vocab_size).view(BATCH, SEQ)


def task_loss(head, model):
    row, tokens = torch.arange(BATCH), torch.arange(BATCH * SEQ).view(BATCH, SEQ)
    labels = {"sequence": {"labels": row % model.config.num_labels}, "token": {"labels": tokens % model.config.num_labels},
              "question": {"start_positions": (3 * row + 1) % SEQ, "end_positions": (5 * row + 2) % SEQ}}[head]
    return model(input_ids=task_ids(model.config), **labels).loss


def build(name):
    if "#" in name:
        return build_task(*name.split("#"))
    if name == "resnet18":
        with open(os.path.join(TINY_FOLDER, name, "config.json")) as source:
            config = json.load(source)
        return timm.create_model(config["architecture"], pretrained=False, num_classes=config["num_classes"])
    if name in CONVOLUTIONS:
        return model_row(name)[1]()
    _, kind, _, config = MODELS["tiny/" + name]
    config.use_cache = False
    return kind._from_config(config, attn_implementation="eager")


def loss_of(name, model, dtype):
    if "#" in name:
        return task_loss(name.split("#")[1], model)
    if name in TEXT:
        count = BATCH * SEQ
        ids = ((7 * torch.arange(count) + 3) % model.config.vocab_size).view(BATCH, SEQ)
        return model(input_ids=ids, labels=ids).loss
    convolutes = name in CONVOLUTIONS
    size, classes = (CONVOLUTIONS[name], 10) if convolutes else (model.config.image_size, model.config.num_labels)
    k = torch.arange(BATCH * 3 * size * size)
    pixels = 2 * mix(k) if convolutes else torch.sin(0.01 * k.double())
    pixels, labels = pixels.to(dtype).view(BATCH, 3, size, size), torch.arange(BATCH) % classes
    if convolutes:
        return torch.nn.functional.cross_entropy(model(pixels), labels)
    return model(pixel_values=pixels, labels=labels).loss


def step_of(name, dtype, seed=None):
    """The loss and the norms of all gradients; with a seed of weights that were changed in their last digit."""
    model = build(name).to(dtype).train()
    fill(model, patternless=name in CONVOLUTIONS)
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                change = 2 * torch.rand(parameter.shape, generator=generator, dtype=torch.float64) - 1
                parameter.copy_(parameter.double() * (1 + 2**-24 * change))
    loss = loss_of(name, model, dtype)
    loss.backward()
    return loss.item(), {key: parameter.grad.double().norm().item() for key, parameter in model.named_parameters()}


def measure(name):
    torch.manual_seed(0)
    exact_loss, exact = step_of(name, torch.float64)
    loss, gradients = step_of(name, torch.float32)
    row = {"model": f"tiny/{name}", "batch": BATCH, "seq": SEQ if name in TEXT or "#" in name else None,
           "loss": loss, "loss_float64": exact_loss, "gradients": gradients, "gradients_float64": exact}
    if name == "tiny-regnet":
        runs = [step_of(name, torch.float32, seed)[1] for seed in range(1, 25)]
        row["gradients_rounding"] = {key: max(abs(run[key] - norm) for run in runs) for key, norm in gradients.items()}
    return row


def main():
    torch.set_num_threads(1)
    head = {"torch": torch.__version__, "transformers": transformers.__version__, "timm": timm.__version__}
    names = HEADS if sys.argv[1:] == ["--heads"] else sys.argv[1:] or (*TEXT, "vit", "resnet18")
    rows = [measure(name) for name in names]
    json.dump({"versions": head, "models": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
