#!/usr/bin/env python3
"""Holds one training step of every tiny model of the catalogue against real PyTorch: the loss and every gradient.

Run in the root of the repository, after make:
    python3 peers/pytorch/model_check.py [--device host] [--seeds 7] [MODEL ...] > peers/pytorch/model_check.txt

model_export.c (compiled here) draws weights and inputs, runs forward and backward on our device and writes all of it as
safetensors. The real class (transformers, timm) loads these weights by name, strictly, takes the same inputs in training
mode without dropout, on the CPU, and its loss and gradients are compared.

float32: |ours - PyTorch's| / |PyTorch's| < 1e-4 for every tensor and seed (Euclidean norms), and for the loss. A gradient
that cancels (keys' biases, which no softmax feels) is rounding alone: where PyTorch's is shorter than 1e-6 of all gradients
together, ours must be too; these are counted as cancelled.

float16, bfloat16 and autocast to them: both are held against PyTorch in float64 on the same weights. For every tensor ours
may be at most 2 times as far from it as PyTorch's own step in that precision, and 1e-3 (float16) or 1e-2 (bfloat16) more;
errors are medians over the seeds. In a ResNet one rounding turns a rectifier over and moves all gradients behind it by some
percent, on either side and in some of the seeds: there all gradients are one vector ("together"). In a mixture of experts one
rounding gives a token another expert, on either side and in up to half of the seeds (the scores of the last expert that is
chosen and the first that is not lie closer than bfloat16 rounds): there errors are lower quartiles. CUDA's autocast is made on
the CPU by shadow_autocast.py. Exit 1 where anything differs.

--device cuda:0 compares a GPU (ASSAY_PLUGIN_DIR names the folder of the plug-in, build, or build/tests/cuda_emulation).
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import safetensors.torch
import timm
import torch
import transformers

from peer_models import keep_float32
from shadow_autocast import LOWER_PRECISION, CudaAutocast

LOWER_PRECISION.add(torch.nn.functional.scaled_dot_product_attention)  # shadow_device.py casts for it otherwise

CATALOGUE = pathlib.Path("models/catalogue")
MODELS = ("tiny-bert", "tiny-gemma", "tiny-gemma2", "tiny-gemma3", "tiny-gpt-neox", "tiny-gpt2", "tiny-llama",
          "tiny-mistral", "tiny-phi3", "tiny-qwen2", "tiny-qwen3", "tiny-vit", "tiny-resnet", "tiny-resnet-bottleneck",
          "tiny-vgg", "tiny-convnext", "tiny-roberta", "tiny-distilbert", "tiny-opt", "tiny-opt-projected", "tiny-bloom",
          "tiny-mixtral", "tiny-qwen2-moe", "tiny-qwen3-moe", "tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-falcon",
          "tiny-falcon-grouped", "tiny-falcon-alibi", "tiny-t5", "tiny-gpt-neo",
          "tiny-timm-vit", "tiny-regnet")
HEADS = {"roberta": transformers.RobertaForMaskedLM, "distilbert": transformers.DistilBertForMaskedLM,
         "opt": transformers.OPTForCausalLM, "falcon": transformers.FalconForCausalLM, "bloom": transformers.BloomForCausalLM,
         "bert": transformers.BertForMaskedLM, "gemma": transformers.GemmaForCausalLM,
         "gemma2": transformers.Gemma2ForCausalLM, "gemma3_text": transformers.Gemma3ForCausalLM,
         "gpt_neo": transformers.GPTNeoForCausalLM, "gpt_neox": transformers.GPTNeoXForCausalLM, "gpt2": transformers.GPT2LMHeadModel,
         "llama": transformers.LlamaForCausalLM, "mistral": transformers.MistralForCausalLM,
         "phi3": transformers.Phi3ForCausalLM, "qwen2": transformers.Qwen2ForCausalLM,
         "deepseek_v2": transformers.DeepseekV2ForCausalLM, "deepseek_v3": transformers.DeepseekV3ForCausalLM,
         "mixtral": transformers.MixtralForCausalLM, "qwen2_moe": transformers.Qwen2MoeForCausalLM,
         "qwen3_moe": transformers.Qwen3MoeForCausalLM, "qwen3": transformers.Qwen3ForCausalLM,
         "t5": transformers.T5ForConditionalGeneration, "vit": transformers.ViTForImageClassification,
         "convnext": transformers.ConvNextForImageClassification}
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
LOSS_SCALE = {"amp-float16": 1024.0}  # models/workload/workload_tape.c
FLOOR = {"float16": 1e-3, "bfloat16": 1e-2}
BOUND, CANCELLED, TIMES = 1e-4, 1e-6, 2.0
SOURCES = ("peers/pytorch/model_export.c", "tests/models/model_step.c", "tests/models/tape_machine.c")


def export_program(folder):
    program = os.path.join(folder, "model_export")
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-I.", "-O1", "-o", program, *SOURCES, "build/libassay.a",
                    "-lcmocka", "-ljansson", "-lyaml", "-lhwloc", "-ldl", "-lm", "-pthread", "-fopenmp"], check=True)
    return program


def raw_of(name):
    return json.loads((CATALOGUE / name / "config.json").read_text())


def routes(name):
    """Whether tokens choose their experts."""
    return any("expert" in key for key in raw_of(name))


def attends(name):
    raw = raw_of(name)
    return "architecture" not in raw and raw["model_type"] != "convnext"


def configuration_without_dropout(name, folder):
    """The catalogue's config.json with every dropout set to 0, as a file of its own."""
    raw = raw_of(name)
    for key in raw:
        if key.endswith(("dropout", "dropout_prob", "dropout_rate", "pdrop")):
            raw[key] = 0.0
    path = os.path.join(folder, "config.json")
    with open(path, "w") as target:
        json.dump(raw, target)
    return raw, path


def build(raw, path, attention):
    if "architecture" in raw:
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in raw["model_args"].items()}
        if "cfg" in arguments:  # an argument of the class that create_model does not pass on
            return timm.models.vgg.VGG(num_classes=raw["num_classes"], **arguments)
        return timm.create_model(raw["architecture"], pretrained=False, num_classes=raw["num_classes"], **arguments)
    config = transformers.AutoConfig.from_pretrained(path)
    config.use_cache = False
    return HEADS[config.model_type]._from_config(config, attn_implementation=attention)


def part(tensors, prefix):
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def real_step(raw, path, attention, tensors, dtype, autocast=None, scale=1.0):
    """(loss, gradients by name) of the real class in dtype, under autocast where it is one."""
    model = build(raw, path, attention)
    model.load_state_dict(part(tensors, "weight."), strict=True)
    model = model.to(dtype).train()
    keep_float32(model, dtype)
    if dtype == torch.float64 and any("experts" in key for key in raw):
        model.set_experts_implementation("eager")  # grouped_mm has no float64; the same sums, expert by expert
    inputs = part(tensors, "input.")
    with CudaAutocast(autocast) if autocast else contextlib.nullcontext():
        if "input_ids" in inputs:
            loss = model(input_ids=inputs["input_ids"], labels=inputs["input_ids"]).loss
        elif "architecture" in raw:
            loss = torch.nn.functional.cross_entropy(model(inputs["pixel_values"].to(dtype)), inputs["labels"])
        else:
            loss = model(pixel_values=inputs["pixel_values"].to(dtype), labels=inputs["labels"]).loss
    (loss * scale).backward()
    return loss.item(), {key: parameter.grad.double() / scale for key, parameter in model.named_parameters()}


def gradients_of(tensors, precision):
    scale = LOSS_SCALE.get(precision, 1.0)
    return {key: value.double() / scale for key, value in part(tensors, "gradient.").items()}


def relative(value, reference):
    return abs(value - reference) / abs(reference)


def length_of_all(gradients):
    return math.sqrt(sum(gradient.norm().item() ** 2 for gradient in gradients.values()))


def errors_of(side, reference):
    """(relative error by name, names of those that cancel); infinite where ours does not cancel with the reference."""
    least = CANCELLED * length_of_all(reference)
    errors, cancelled = {}, []
    for key, gradient in reference.items():
        length = gradient.norm().item()
        if length >= least:
            errors[key] = (side[key].double() - gradient.double()).norm().item() / length
        else:
            cancelled.append(key)
    return errors, cancelled


def check_float32(steps):
    """steps: (ours, our loss, PyTorch's, its loss) of every seed. Returns (text, whether all is well)."""
    worst, name, loss, count, well = 0.0, "", 0.0, 0, True
    for ours, our_loss, real, real_loss in steps:
        errors, cancelled = errors_of(ours, real)
        well = well and all(ours[key].norm().item() < CANCELLED * length_of_all(real) for key in cancelled)
        largest = max(errors, key=errors.get)
        worst, name = max((worst, name), (errors[largest], largest))
        loss, count = max(loss, relative(our_loss, real_loss)), len(errors)
    well = well and worst < BOUND and loss < BOUND
    return f"loss {loss:.1e}, {count} gradients, {len(cancelled)} cancelled, worst {worst:.1e} ({name})", well


def together(gradients):
    """All of them as one vector, in the order of their names."""
    return {"together": torch.cat([gradients[key].double().flatten() for key in sorted(gradients)])}


def lower_quartile(values):
    return statistics.quantiles(values, n=4, method="inclusive")[0]


def check_rounded(steps, floor, middle):
    """steps: (ours, our loss, PyTorch's, its loss, float64's, its loss) of every seed. middle: of the seeds' errors."""
    our_errors, real_errors = {}, {}
    for ours, _, real, _, exact, _ in steps:
        for side, errors in ((ours, our_errors), (real, real_errors)):
            for key, error in errors_of(side, exact)[0].items():
                errors.setdefault(key, []).append(error)
    our_errors["loss"] = [relative(step[1], step[5]) for step in steps]
    real_errors["loss"] = [relative(step[3], step[5]) for step in steps]
    ours, real = ({key: middle(values) for key, values in errors.items()} for errors in (our_errors, real_errors))
    part_of = {key: ours[key] / (TIMES * real[key] + floor) for key in ours}
    name = max(part_of, key=part_of.get)
    return (f"loss {ours['loss']:.1e}, PyTorch's {real['loss']:.1e}, {len(part_of) - 1} gradients, "
            f"worst {ours[name]:.1e}, PyTorch's {real[name]:.1e} ({name})"), part_of[name] <= 1


def step_of(program, name, precision, attention, device, seed, folder):
    raw, path = configuration_without_dropout(name, folder)
    file = os.path.join(folder, "step.safetensors")
    subprocess.run([program, path, precision, attention, device, str(seed), file], check=True)
    tensors = safetensors.torch.load_file(file)
    amp, half = precision.startswith("amp-"), DTYPES.get(precision.removeprefix("amp-"))
    dtype = half if half and not amp else torch.float32
    real_loss, real = real_step(raw, path, attention, tensors, dtype, half if amp else None,
                                LOSS_SCALE.get(precision, 1.0))
    ours = gradients_of(tensors, precision)
    if set(ours) != set(real):
        sys.exit(f"{name}: these have a gradient on one side alone: {sorted(set(ours) ^ set(real))}")
    step = [ours, tensors["loss"].item(), real, real_loss]
    if half is not None:
        step += reversed(real_step(raw, path, attention, tensors, torch.float64))
    return step


def check(program, name, precision, attention, options, folder):
    steps = [step_of(program, name, precision, attention, options.device, seed, folder)
             for seed in range(1, options.seeds + 1)]
    if precision == "float32":
        text, well = check_float32(steps)
    else:
        if not attends(name):
            steps = [[together(part) if isinstance(part, dict) else part for part in step] for step in steps]
        middle = lower_quartile if routes(name) else statistics.median
        text, well = check_rounded(steps, FLOOR[precision.removeprefix("amp-")], middle)
    print(f"{'equal  ' if well else 'DIFFERS'} {name} {precision} {attention}: {text}", flush=True)
    return well


def forms_of(name):
    """Gemma 2 caps its scores and BLOOM biases them, which transformers does in the eager form alone; GPT-Neo has no other."""
    eager = "gemma2" in name or "bloom" in name or name == "tiny-gpt-neo"
    return ("sdpa",) if not attends(name) else ("eager",) if eager else ("sdpa", "eager")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="host")
    parser.add_argument("--seeds", type=int, default=7)
    parser.add_argument("models", nargs="*", default=MODELS)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, timm {timm.__version__}; "
          f"ours on {options.device}, {options.seeds} seeds. Errors are relative.")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        program = export_program(folder)
        for precision in ("float32", "bfloat16", "float16", "amp-bfloat16", "amp-float16"):
            for name in options.models:
                for attention in forms_of(name):
                    results.append(check(program, name, precision, attention, options, folder))
    print(f"{sum(results)} equal, {len(results) - sum(results)} different")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
