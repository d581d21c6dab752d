#!/usr/bin/env python3
"""Which parameters transformers' Trainer gives its optimizer without weight decay, of each tiny model of the catalogue.

    python3 peers/transformers/decay_names.py > tests/models/golden/no_decay.jsonl

A line a model: its folder and the names, as Trainer.get_decay_parameter_names leaves them out.
"""
import glob
import json
import os

import torch
import transformers

CLASSES = {"bert": "MaskedLM", "roberta": "MaskedLM", "distilbert": "MaskedLM", "t5": "Seq2SeqLM", "vit": "ImageClassification",
           "convnext": "ImageClassification"}


def names_of(path):
    config = transformers.AutoConfig.from_pretrained(path)
    kind = getattr(transformers, "AutoModelFor" + CLASSES.get(config.model_type, "CausalLM"))
    with torch.device("meta"):
        model = kind.from_config(config)
    decayed = transformers.Trainer.get_decay_parameter_names(None, model)
    return [name for name, _ in model.named_parameters() if name not in decayed]


def main():
    for path in sorted(glob.glob("models/catalogue/tiny-*/config.json")):
        folder = os.path.dirname(path)
        with open(path, encoding="utf-8") as source:
            if "model_type" not in json.load(source):
                continue  # timm's
        print(json.dumps({"model": os.path.basename(folder), "no_decay": names_of(folder)}, separators=(",", ":")))


if __name__ == "__main__":
    main()
