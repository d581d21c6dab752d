#!/usr/bin/env python3
"""Holds the skeletons against the real classes, and the accelerate estimator against accelerate itself.

Every model of the catalogue is built on the meta device by transformers or timm, from the catalogue's own config.json,
without and with its head, and with every head of a task that it has a class for. Compared are, in order: names, kinds, shapes and dtypes of every parameter and buffer, ties,
the order in which module.to(device) moves them, every module of named_modules() with its class and whether it is never
split, the number of parameters, the bytes of buffers, accelerate's total and largest layer (with the model's own classes
kept whole, and with none), and its printed table, to the character.

A module object with two paths is a difference: named_modules() and named_children() list it once, and a skeleton cannot
say so.

The same is done for small models with other values of the options that change modules (OPTIONS), one line for an option.

Run in the root of the repository, after make: python3 peers/transformers/compare_skeletons.py [--golden] [MODEL ...]
Needs torch, transformers, timm and accelerate. Exit 1 where anything differs. With --golden the real tensors of the tiny
models, and the modules of all of them, are written to tests/models/golden, where a test reads them that needs no Python.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import accelerate
import timm
import torch
import transformers
from accelerate.commands.estimate import create_ascii_table, estimate_training_usage
from accelerate.utils import calculate_maximum_sizes, convert_bytes

CATALOGUE = pathlib.Path("models/catalogue")
GOLDEN = pathlib.Path("tests/models/golden")
HEADS = {
    "bert": transformers.AutoModelForMaskedLM,
    "bloom": transformers.AutoModelForCausalLM,
    "deepseek_v2": transformers.AutoModelForCausalLM,
    "deepseek_v3": transformers.AutoModelForCausalLM,
    "distilbert": transformers.AutoModelForMaskedLM,
    "falcon": transformers.AutoModelForCausalLM,
    "gemma": transformers.AutoModelForCausalLM,
    "gemma2": transformers.AutoModelForCausalLM,
    "gemma3_text": transformers.AutoModelForCausalLM,
    "gpt2": transformers.AutoModelForCausalLM,
    "gpt_neo": transformers.AutoModelForCausalLM,
    "gpt_neox": transformers.AutoModelForCausalLM,
    "llama": transformers.AutoModelForCausalLM,
    "mistral": transformers.AutoModelForCausalLM,
    "mixtral": transformers.AutoModelForCausalLM,
    "opt": transformers.AutoModelForCausalLM,
    "phi3": transformers.AutoModelForCausalLM,
    "qwen2": transformers.AutoModelForCausalLM,
    "qwen2_moe": transformers.AutoModelForCausalLM,
    "qwen3": transformers.AutoModelForCausalLM,
    "qwen3_moe": transformers.AutoModelForCausalLM,
    "roberta": transformers.AutoModelForMaskedLM,
    "t5": transformers.AutoModelForSeq2SeqLM,
    "vit": transformers.AutoModelForImageClassification,
    "convnext": transformers.AutoModelForImageClassification,
    "xlm-roberta": transformers.AutoModelForMaskedLM,
}

# Heads of tasks, by the words of --head. A model type has those that transformers has a class for.
TASKS = {
    "sequence": transformers.AutoModelForSequenceClassification,
    "token": transformers.AutoModelForTokenClassification,
    "question": transformers.AutoModelForQuestionAnswering,
    "encoder": transformers.AutoModelForTextEncoding,
}


UNBUILT = {"t5": ("sequence", "token", "question")}  # classes that assay does not build, and says so


def task_class(config, head):
    """The class of transformers; None: there is none. Of text alone: a classifier of images is its head "lm"."""
    known = TASKS[head]._model_mapping
    if type(config) not in known or config.model_type in ("vit", "convnext") or head in UNBUILT.get(config.model_type, ()):
        return None
    kind = known[type(config)]
    ending = {"encoder": "EncoderModel", "sequence": "ForSequenceClassification", "token": "ForTokenClassification",
              "question": "ForQuestionAnswering"}[head]
    return kind if kind.__name__.endswith(ending) else None


def heads_of(name):
    """All heads that the classes of a model have, and those of them that assay says it has."""
    raw = json.loads((CATALOGUE / name / "config.json").read_text())
    if "architecture" in raw:
        return ["bare", "lm"]
    config = transformers.AutoConfig.from_pretrained(CATALOGUE / name)
    return ["bare", "lm", *(head for head in TASKS if task_class(config, head) is not None)]


ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "silu", "swish", "relu"]
SWITCH = [False, True]
PROBABILITIES = [0.0, 0.3]
# Options of small models, and values of them that are modelled. Dropouts are modules whatever their probability is.
OPTIONS = [(name, key, ACTIVATIONS) for key, names in {
    "hidden_act": "tiny-bert tiny-convnext tiny-deepseek-v2 tiny-deepseek-v3 tiny-gemma tiny-gpt-neox tiny-llama "
                  "tiny-mistral tiny-mixtral tiny-phi3 tiny-qwen2 tiny-qwen2-moe tiny-qwen3 tiny-qwen3-moe tiny-roberta "
                  "tiny-vit",
    "hidden_activation": "tiny-gemma2 tiny-gemma3",
    "activation": "tiny-distilbert tiny-falcon",
    "activation_function": "tiny-gpt2 tiny-gpt-neo tiny-opt",
}.items() for name in names.split()] + [
    ("tiny-t5", "feed_forward_proj", ["relu", "gelu", "silu", "gated-relu", "gated-gelu", "gated-silu", "gated-swish",
                                      "gated-gelu_new"]),
    ("tiny-bert", "hidden_dropout_prob", PROBABILITIES),
    ("tiny-bert", "attention_probs_dropout_prob", PROBABILITIES),
    ("tiny-bert", "tie_word_embeddings", SWITCH),
    ("tiny-bloom", "attention_dropout", PROBABILITIES),
    ("tiny-bloom", "apply_residual_connection_post_layernorm", SWITCH),
    ("tiny-convnext", "layer_scale_init_value", [0.0, 1e-6]),
    ("tiny-convnext", "drop_path_rate", [0.0]),
    ("tiny-deepseek-v3", "first_k_dense_replace", [0, 1, 2]),
    ("tiny-deepseek-v3", "q_lora_rank", [None, 24]),
    ("tiny-distilbert", "dropout", PROBABILITIES),
    ("tiny-falcon", "attention_dropout", PROBABILITIES),
    ("tiny-falcon", "bias", SWITCH),
    ("tiny-falcon", "alibi", SWITCH),
    ("tiny-falcon", "parallel_attn", SWITCH),
    ("tiny-falcon-grouped", "num_ln_in_parallel_attn", [1, 2]),
    ("tiny-gpt-neo", "attention_types", [[[["local"], 2]], [[["global"], 1], [["local"], 1]]]),
    ("tiny-gpt-neo", "window_size", [1, 200]),
    ("tiny-gpt-neo", "tie_word_embeddings", SWITCH),
    ("tiny-gpt-neox", "hidden_dropout", PROBABILITIES),
    ("tiny-gpt-neox", "use_parallel_residual", SWITCH),
    ("tiny-gpt-neox", "attention_bias", SWITCH),
    ("tiny-gpt2", "resid_pdrop", PROBABILITIES),
    ("tiny-gpt2", "tie_word_embeddings", SWITCH),
    ("tiny-llama", "attention_bias", SWITCH),
    ("tiny-llama", "mlp_bias", SWITCH),
    ("tiny-opt", "do_layer_norm_before", SWITCH),
    ("tiny-opt", "enable_bias", SWITCH),
    ("tiny-phi3", "resid_pdrop", PROBABILITIES),
    ("tiny-qwen2-moe", "decoder_sparse_step", [1, 2]),
    ("tiny-qwen2-moe", "mlp_only_layers", [[], [0], [0, 1]]),
    ("tiny-regnet", "model_args", [{"depth": 5, "w0": 16, "wa": 10.0, "wm": 1.6, "stem_width": 10, "se_ratio": 0.3},
                                   {"depth": 9, "w0": 24, "wa": 9.5, "wm": 1.7, "group_size": 12, "se_ratio": 0},
                                   {"in_chans": 1, "drop_rate": 0.1}]),
    ("timm/regnety_004.tv2_in1k", "architecture",
     [*(f"regnetx_{size}" for size in ("002", "004_tv", "006", "008", "032", "040", "064", "080", "120", "160", "320")),
      *(f"regnety_{size}" for size in ("002", "006", "008", "008_tv", "040", "064", "080", "080_tv", "120", "160", "320",
                                       "640", "1280", "2560"))]),
    ("tiny-resnet", "model_args", [{"layers": [1, 2, 1, 2]}, {"channels": [64, 64, 96, 128]}, {"in_chans": 1}]),
    ("tiny-t5", "dropout_rate", PROBABILITIES),
    ("tiny-vit", "hidden_dropout_prob", PROBABILITIES),
    ("tiny-vit", "qkv_bias", SWITCH),
]


def real_model(name, head):
    """The real class on the meta device. What timm makes has one form: with its classifier."""
    raw = json.loads((CATALOGUE / name / "config.json").read_text())
    with torch.device("meta"):
        if "architecture" in raw:
            arguments = {key: tuple(value) if isinstance(value, list) else value
                         for key, value in raw.get("model_args", {}).items()}
            if "cfg" in arguments:  # an argument of the class that create_model does not pass on
                return timm.models.vgg.VGG(num_classes=raw["num_classes"], **arguments)
            return timm.create_model(raw["architecture"], pretrained=False, num_classes=raw["num_classes"], **arguments)
        config = transformers.AutoConfig.from_pretrained(CATALOGUE / name)
        maker = (task_class(config, head) or TASKS[head]) if head in TASKS else (
            HEADS[config.model_type] if head == "lm" else transformers.AutoModel)
        make = maker._from_config if hasattr(maker, "_from_config") else maker.from_config
        model = make(config, dtype=torch.float32)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    return model


def real_tensors(model):
    """(path, kind, shape, dtype, owner) in the order of the state dict, transient buffers included."""
    owners, rows = {}, []
    for prefix, module in model.named_modules():
        transient = module._non_persistent_buffers_set
        members = [(key, tensor, "parameter") for key, tensor in module._parameters.items()]
        members += [(key, tensor, "transient" if key in transient else "buffer") for key, tensor in module._buffers.items()]
        for key, tensor, kind in members:
            if tensor is None:
                continue
            path = f"{prefix}.{key}" if prefix else key
            owner = owners.setdefault(id(tensor), path)
            shape = "(" + ",".join(map(str, tensor.shape)) + ")"
            dtype = str(tensor.dtype).removeprefix("torch.")
            rows.append((path, kind, shape, dtype, "-" if owner == path else owner))
    return rows


def real_load_order(module, prefix=""):
    """What Module._apply does: children first, then its own parameters, then its own buffers."""
    order = []
    for key, child in module.named_children():
        order += real_load_order(child, f"{prefix}{key}.")
    for members in (module._parameters, module._buffers):
        order += [prefix + key for key, tensor in members.items() if tensor is not None]
    return order


def real_modules(model):
    """(path, class, whole or -) of every module, in the order of named_modules()."""
    whole = set(getattr(model, "_no_split_modules", None) or [])
    rows = []
    for path, module in model.named_modules():
        name = type(module).__name__
        rows.append((path or ".", name, "whole" if name in whole else "-"))
    return rows


def shared_modules(model):
    """Paths that named_modules() leaves out, because they lead to a module that it has listed already."""
    listed = {path for path, _ in model.named_modules()}
    return [path for path, _ in model.named_modules(remove_duplicate=False) if path not in listed]


def real_table(name, total, largest):
    rows = []
    for dtype, divisor in (("float32", 1), ("float16", 2), ("int8", 4), ("int4", 8)):
        training = max(estimate_training_usage(total, dtype).values())
        sizes = (largest, total) if divisor == 1 else (largest / divisor, total / divisor)
        rows.append([dtype, *map(convert_bytes, sizes), convert_bytes(training) if training != -1 else "N/A"])
    headers = ["dtype", "Largest Layer", "Total Size", "Training using Adam"]
    return create_ascii_table(headers, rows, f"Memory Usage for loading `{name}`")


def dump(program, name, what):
    text = subprocess.run([program, name, what], check=True, capture_output=True, text=True).stdout
    if what == "table":
        return text
    lines = {}
    for line in text.splitlines():
        kind, *fields = line.split(" ")
        lines.setdefault(kind, []).append(tuple(fields))
    return lines


def first_difference(what, ours, real):
    for index, (a, b) in enumerate(zip(ours, real)):
        if a != b:
            return [f"{what} {index}: ours {a}, real {b}"]
    if len(ours) != len(real):
        return [f"{what}: ours has {len(ours)}, real has {len(real)}"]
    return []


def differences_of(program, name, head):
    """What differs, one line each, and the real model."""
    model = real_model(name, head)
    ours = dump(program, name, head)
    tensors = real_tensors(model)
    loads = [(path,) for path in real_load_order(model)]
    buffers = sum(b.numel() * b.element_size() for b in model.buffers())
    counts = (str(sum(p.numel() for p in model.parameters())), str(buffers))
    differences = first_difference("tensor", ours.get("tensor", []), tensors)
    differences += first_difference("load", ours.get("load", []), loads)
    differences += first_difference("module", ours["module"], real_modules(model))
    differences += [f"module {path} is one object with an earlier one" for path in shared_modules(model)]
    differences += first_difference("counts", ours["counts"], [counts])
    if head == "bare":
        with accelerate.init_empty_weights():  # as accelerate builds it, which undoes the ties of embeddings
            weighed = real_model(name, head)
        total, (largest, _) = calculate_maximum_sizes(weighed)
        weighed._no_split_modules = []  # every block may be split: a module with children is then no layer, whatever it has
        sizes = (total, largest, calculate_maximum_sizes(weighed)[1][0])
        differences += first_difference("accelerate", ours["accelerate"], [tuple(str(int(size)) for size in sizes)])
        table = real_table(name, total, largest)
        differences += first_difference("table", dump(program, name, "table").splitlines(), table.splitlines())
    return differences, model


def report(what, differences):
    print(f"{'equal' if not differences else 'DIFFERENT'} {what}", flush=True)
    for line in differences:
        print(f"    {line}")
    return not differences


def compare(program, name, head):
    differences, model = differences_of(program, name, head)
    return report(f"{name} {head}: {type(model).__name__}, {len(list(model.modules()))} modules, "
                  f"{len(real_tensors(model))} tensors, {sum(p.numel() for p in model.parameters())} parameters, "
                  f"{sum(b.numel() * b.element_size() for b in model.buffers())} bytes of buffers", differences)


def compare_option(program, folder, name, key, values):
    """A small model with other values of one option, without and with its head."""
    differences = []
    for number, value in enumerate(values):
        raw = json.loads((CATALOGUE / name / "config.json").read_text())
        raw[key] = value
        place = pathlib.Path(folder) / f"{name}-{key}-{number}"
        place.mkdir(parents=True)
        (place / "config.json").write_text(json.dumps(raw))
        for head in ("bare", "lm"):
            found, _ = differences_of(program, str(place), head)
            differences += [f"{json.dumps(value)} {head}: {line}" for line in found]
    return report(f"{name} {key}: {', '.join(json.dumps(value) for value in values)}", differences)


def golden_write(name):
    """One line a tensor: tensor PATH KIND SHAPE DTYPE OWNER; then the load order: load PATH; then the modules: module
    PATH CLASS whole|-."""
    for head in heads_of(name):
        model = real_model(name, head)
        lines = ["tensor " + " ".join(row) for row in real_tensors(model)]
        lines += ["load " + path for path in real_load_order(model)]
        lines += ["module " + " ".join(row) for row in real_modules(model)]
        (GOLDEN / f"{name}.{head}.txt").write_text("\n".join(lines) + "\n")


def main():
    transformers.logging.set_verbosity_error()
    if "--golden" in sys.argv[1:]:
        for path in sorted(CATALOGUE.glob("tiny-*")):
            golden_write(path.name)
        return 0
    names = sys.argv[1:] or sorted(str(path.parent.relative_to(CATALOGUE)) for path in CATALOGUE.rglob("config.json"))
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, timm {timm.__version__}, "
          f"accelerate {accelerate.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/dump_skeleton"
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-I.", "-o", program, "peers/transformers/dump_skeleton.c",
                        "build/libassay.a", "-ljansson", "-lyaml", "-lhwloc", "-ldl", "-lm", "-pthread", "-fopenmp"],
                       check=True)
        results = [compare(program, name, head) for name in names for head in heads_of(name)]
        results += [compare_option(program, folder, name, key, values)
                    for name, key, values in OPTIONS if name in names]
    print(f"{sum(results)} equal, {len(results) - sum(results)} different")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
