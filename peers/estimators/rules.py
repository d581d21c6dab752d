"""What the calculators of others answer, for tests/estimate/test_rules_of_others.c: their own code, run.

  python rules.py --cookbook REPOSITORY --megatron REPOSITORY --deepspeed REPOSITORY > rules.json

needs torch, transformers, accelerate and hf-mem installed, and checkouts of EleutherAI/cookbook, NVIDIA/Megatron-LM and
deepspeedai/DeepSpeed (bare ones do). PyTorch's own sharding is asked too: FSDP2 and tensor parallel on the meta device, in
a group of processes that is only pretended. Run from the root of this repository. Nothing is downloaded."""

import argparse
import ast
import contextlib
import importlib.metadata
import io
import json
import subprocess
import sys
import types

import torch
import transformers
from accelerate import init_empty_weights
from accelerate.utils.modeling import calculate_maximum_sizes
from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size
from hf_mem.safetensors.metadata import parse_safetensors_metadata

SINGLE = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1, "zero": 0, "fsdp": False}


def git_show(repository, path):
    return subprocess.run(["git", "-C", repository, "show", f"HEAD:{path}"], check=True, capture_output=True, text=True).stdout


def git_commit(repository):
    return subprocess.run(["git", "-C", repository, "rev-parse", "--short", "HEAD"], check=True, capture_output=True,
                          text=True).stdout.strip()


def config_of(model):
    return transformers.AutoConfig.from_pretrained(f"models/catalogue/{model}")


def functions_of(source, names):
    """The functions of that name alone: the modules around them need a GPU or a cluster."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    scope = {}
    exec(compile(tree, "functions", "exec"), scope)
    return scope


def row(estimator, model, workload, parallel, expected):
    return {"estimator": estimator, "model": model, "workload": workload, "parallel": {**SINGLE, **parallel},
            "expected": {name: int(value) for name, value in expected.items()}}


# ---- EleutherAI's calculator: it prints GiB with two digits, so its local variables are read when it returns ----

def cookbook_locals(scope, arguments):
    found = {}

    def watch(frame, event, _argument):
        if event == "return" and frame.f_code.co_name == "calc_mem":
            found.update(frame.f_locals)

    with contextlib.redirect_stdout(io.StringIO()):
        parsed = scope["config_parser"]().parse_args(arguments)
        sys.setprofile(watch)
        try:
            scope["calc_mem"](parsed)
        finally:
            sys.setprofile(None)
    return found


def cookbook_rows(repository):
    scope = {"__name__": "cookbook"}
    exec(compile(git_show(repository, "calc/calc_transformer_mem.py"), "calc_transformer_mem", "exec"), scope)
    cases = [
        ("gpt2", "train", "amp-bfloat16", {"batch": 8, "seq": 512}, {}),
        ("gpt2", "train", "float32", {"batch": 8, "seq": 512, "optimizer": "sgd-momentum"}, {}),
        ("gpt2", "train", "bfloat16", {"batch": 2, "seq": 1024, "checkpointing": "true"}, {}),
        ("bert-large-uncased", "train", "amp-float16", {"batch": 4, "seq": 384}, {}),
        ("meta-llama/Llama-2-7b-hf", "train", "bfloat16", {"batch": 8, "seq": 2048, "checkpointing": "true"},
         {"data": 64, "tensor": 2, "zero": 1}),
        ("meta-llama/Llama-2-7b-hf", "train", "bfloat16", {"batch": 1, "seq": 4096}, {"data": 8, "zero": 3}),
        ("meta-llama/Llama-2-7b-hf", "train", "bfloat16", {"batch": 1, "seq": 4096}, {"data": 4, "zero": 2}),
        ("meta-llama/Llama-3.1-8B", "train", "amp-bfloat16", {"batch": 1, "seq": 2048}, {"tensor": 4, "pipeline": 2}),
        ("meta-llama/Llama-2-7b-hf", "generate", "float16", {"batch": 1, "seq": 2048, "new_tokens": 32}, {}),
        ("meta-llama/Llama-3.1-8B", "generate", "float32", {"batch": 4, "seq": 512, "new_tokens": 128}, {}),
        ("gpt2", "infer", "float16", {"batch": 2, "seq": 1024}, {}),
        ("facebook/opt-1.3b", "train", "amp-bfloat16", {"batch": 2, "seq": 512}, {}),
        ("tiiuae/falcon-7b", "train", "bfloat16", {"batch": 1, "seq": 256}, {"data": 2, "zero": 1}),
        ("FacebookAI/roberta-base", "train", "bfloat16", {"batch": 2, "seq": 512}, {}),
        ("google/gemma-2-2b", "train", "bfloat16", {"batch": 2, "seq": 512}, {}),
        ("EleutherAI/pythia-160m", "train", "bfloat16", {"batch": 2, "seq": 512}, {}),
    ]
    rows = []
    for model, mode, precision, fields, degrees in cases:
        parallel = {**SINGLE, **degrees}
        devices = parallel["data"] * parallel["tensor"] * parallel["pipeline"]
        words = ["--hf_model_name_or_path", f"models/catalogue/{model}", "-b", str(fields["batch"]), "-s", str(fields["seq"]),
                 "--num-gpus", str(devices), "-tp", str(parallel["tensor"]), "-pp", str(parallel["pipeline"]), "-z",
                 str(parallel["zero"]), "-pa"]
        words += ["-ca"] if fields.get("checkpointing") == "true" else []
        words += ["--disable-mixed-precision"] if precision == "float32" else []
        words += ["-opt", "sgd_momentum"] if fields.get("optimizer") == "sgd-momentum" else []
        words += ["--infer"] if mode != "train" else []
        words += ["-o", str(fields["new_tokens"])] if "new_tokens" in fields else []
        found = cookbook_locals(scope, words)
        expected = {"parameter_count": found["total_params"], "weights_bytes": found["per_gpu_model_mem"],
                    "activations_bytes": found["per_gpu_activation_mem"],
                    "total_bytes": round(found["per_gpu_mem_gib"] * 1024**3)}
        if mode == "train":
            expected["gradients_bytes"] = found["per_gpu_gradient_mem"]
            expected["optimizer_bytes"] = found["per_gpu_optimizer_mem"]
            expected["communication_bytes"] = found["per_gpu_communication_mem"]
        else:
            expected["kv_cache_bytes"] = found["per_gpu_kv_cache_mem"]
        rows.append(row("eleutherai-cookbook", model, {"mode": mode, "precision": precision, **fields}, degrees, expected))
    return rows


# ---- Megatron-LM ----

def megatron_arguments(model, fields, parallel):
    config = config_of(model)
    llama = config.model_type in ("llama", "mistral", "qwen2")
    heads = config.num_attention_heads
    step = 128 * parallel["tensor"]
    return types.SimpleNamespace(
        hidden_size=config.hidden_size, num_layers=config.num_hidden_layers, num_attention_heads=heads,
        kv_channels=config.hidden_size // heads, group_query_attention=llama,
        num_query_groups=config.num_key_value_heads if llama else heads, num_experts=None, swiglu=llama,
        moe_shared_expert_intermediate_size=None, moe_ffn_hidden_size=None, moe_layer_freq=1, mtp_num_layers=None,
        normalization="RMSNorm" if llama else "LayerNorm", multi_latent_attention=False, moe_latent_size=None,
        padded_vocab_size=-(-config.vocab_size // step) * step, add_bias_linear=not llama,
        untie_embeddings_and_output_weights=not config.tie_word_embeddings,
        ffn_hidden_size=config.intermediate_size if llama else 4 * config.hidden_size,
        seq_length=fields["seq"], micro_batch_size=fields["batch"],
        tensor_model_parallel_size=parallel["tensor"], pipeline_model_parallel_size=parallel["pipeline"],
        data_parallel_size=parallel["data"], expert_tensor_parallel_size=parallel["tensor"],
        expert_model_parallel_size=1, world_size=parallel["data"] * parallel["tensor"] * parallel["pipeline"],
        virtual_pipeline_model_parallel_size=None, use_distributed_optimizer=parallel["zero"] >= 1)


def megatron_rows(repository):
    package = types.ModuleType("megatron_training")
    package.__path__ = []
    sys.modules["megatron_training"] = package
    helper = types.ModuleType("megatron_training.utils")
    helper.is_hybrid_model = lambda _arguments: False
    helper.print_rank_0 = print
    sys.modules["megatron_training.utils"] = helper
    module = types.ModuleType("megatron_training.theory")
    module.__package__ = "megatron_training"
    exec(compile(git_show(repository, "megatron/training/theoretical_memory_usage.py"), "theory", "exec"), module.__dict__)
    cases = [
        ("gpt2", {"batch": 8, "seq": 512}, {}),
        ("gpt2-xl", {"batch": 4, "seq": 1024}, {"data": 8, "tensor": 5, "zero": 1}),
        ("meta-llama/Llama-2-7b-hf", {"batch": 1, "seq": 4096}, {"data": 4, "tensor": 2, "zero": 1}),
        ("meta-llama/Llama-2-70b-hf", {"batch": 1, "seq": 4096, "accumulate": 8}, {"data": 2, "tensor": 8, "pipeline": 4}),
        ("meta-llama/Llama-3.1-8B", {"batch": 2, "seq": 2048, "accumulate": 2}, {"pipeline": 4}),
        ("bert-large-uncased", {"batch": 8, "seq": 512}, {"data": 2, "zero": 1}),
    ]
    rows = []
    for model, fields, degrees in cases:
        parallel = {**SINGLE, **degrees}
        arguments = megatron_arguments(model, fields, parallel)
        micro_batches = fields.get("accumulate", 1)
        states = module.compute_weight_and_optimizer_memory(arguments)
        kept = module.compute_activation_memory(arguments, micro_batches)
        whole = module.compute_activation_memory_without_sp(arguments, micro_batches)
        rows.append(row("megatron", model, {"mode": "train", "precision": "bfloat16", **fields}, degrees,
                        {"states_bytes": states, "activations_bytes": kept,
                         "activations_no_sequence_parallel_bytes": whole, "total_bytes": states + kept}))
    return rows


# ---- DeepSpeed ----

def deepspeed_model_counts(scope, model):
    with init_empty_weights():
        built = transformers.AutoModelForCausalLM.from_config(config_of(model))
    built.tie_weights()
    largest = max(sum(p.numel() for p in m.parameters(recurse=False)) for m in built.modules())
    total = sum({id(p): p.numel() for p in built.parameters()}.values())
    return total, largest


def deepspeed_rows(repository):
    zero2 = functions_of(git_show(repository, "deepspeed/runtime/zero/stage_1_and_2.py"),
                         ["estimate_zero2_model_states_mem_needs"])["estimate_zero2_model_states_mem_needs"]
    zero3 = functions_of(git_show(repository, "deepspeed/runtime/zero/stage3.py"),
                         ["estimate_zero3_model_states_mem_needs"])["estimate_zero3_model_states_mem_needs"]
    rows = []
    for model in ("gpt2", "meta-llama/Llama-2-7b-hf"):
        total, largest = deepspeed_model_counts({}, model)
        for devices in (1, 3, 8):
            workload = {"mode": "train", "precision": "bfloat16"}
            host, device = zero2(total, devices, cpu_offload=False)
            offload_host, offload_device = zero2(total, devices, cpu_offload=True)
            degrees = {"data": devices, "zero": 2}
            rows.append(row("deepspeed-zero2", model, workload, degrees,
                            {"total_bytes": device, "host_bytes": host, "offload_optimizer.device_bytes": offload_device,
                             "offload_optimizer.host_bytes": offload_host}))
            host, device, _ = zero3(total, largest, devices, cpu_offload=False, cpu_offload_params=False)
            optimizer_host, optimizer_device, _ = zero3(total, largest, devices, cpu_offload_params=False)
            all_host, all_device, layer = zero3(total, largest, devices)
            rows.append(row("deepspeed-zero3", model, workload, {"data": devices, "zero": 3},
                            {"total_bytes": device, "host_bytes": host, "largest_layer_bytes": layer,
                             "offload_optimizer.device_bytes": optimizer_device,
                             "offload_optimizer.host_bytes": optimizer_host,
                             "offload_parameters.device_bytes": all_device, "offload_parameters.host_bytes": all_host}))
    return rows


# ---- hf-mem ----

SAFETENSORS_NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def hf_mem_rows():
    cases = [("meta-llama/Llama-3.1-8B", "bfloat16", 2048, 256, 1), ("meta-llama/Llama-2-7b-hf", "float16", 100, 28, 4),
             ("mistralai/Mistral-7B-v0.1", "bfloat16", 8000, 192, 2), ("Qwen/Qwen2-0.5B", "float32", 512, 64, 3),
             ("tiiuae/falcon-7b", "bfloat16", 512, 64, 2), ("facebook/opt-1.3b", "float16", 512, 64, 1),
             ("google/gemma-2-2b", "bfloat16", 6000, 192, 1), ("google/gemma-3-1b-pt", "bfloat16", 6000, 192, 2),
             ("Qwen/Qwen3-0.6B", "float16", 512, 64, 1), ("EleutherAI/pythia-160m", "float16", 512, 64, 1),
             ("microsoft/Phi-3-mini-4k-instruct", "bfloat16", 3000, 100, 1)]
    rows = []
    for model, precision, prompt, new, batch in cases:
        config = config_of(model)
        with torch.device("meta"):
            built = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, precision))
        built.tie_weights()
        seen = set()
        header = {}
        for name, tensor in built.state_dict(keep_vars=True).items():
            if id(tensor) not in seen:
                seen.add(id(tensor))
                header[name] = {"dtype": SAFETENSORS_NAMES[tensor.dtype], "shape": list(tensor.shape)}
        weights = parse_safetensors_metadata({"Transformer": header}).bytes_count
        fields = json.load(open(f"models/catalogue/{model}/config.json"))
        name = SAFETENSORS_NAMES[getattr(torch, precision)]
        cache = compute_safetensors_kv_cache_size(fields, name, prompt + new, batch)
        rows.append(row("hf-mem", model, {"mode": "generate", "precision": precision, "batch": batch, "seq": prompt,
                                          "new_tokens": new}, {},
                        {"weights_bytes": weights, "kv_cache_bytes": cache, "total_bytes": weights + cache}))
    return rows


# ---- accelerate, and the same counted on the real model with its head ----

def corrected_bytes(model, scale):
    seen = set()
    total = 0
    for tensor in [*model.parameters(), *model.buffers()]:
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        bytes_of_all = tensor.numel() * tensor.element_size()
        total += bytes_of_all // scale if tensor.is_floating_point() else bytes_of_all
    return total


def accelerate_rows():
    heads = {"bert-base-cased": transformers.AutoModelForMaskedLM, "gpt2": transformers.AutoModelForCausalLM,
             "meta-llama/Llama-2-7b-hf": transformers.AutoModelForCausalLM,
             "Qwen/Qwen2-0.5B": transformers.AutoModelForCausalLM}
    rows = []
    for model, constructor in heads.items():
        with init_empty_weights():
            bare = transformers.AutoModel.from_config(config_of(model), dtype=torch.float32)
        with torch.device("meta"):
            whole = constructor.from_config(config_of(model), dtype=torch.float32)
        whole.tie_weights()
        total, (largest, _) = calculate_maximum_sizes(bare)
        rows.append(row("accelerate", model, {"mode": "load", "precision": "float32", "head": "bare"}, {},
                        {"total_bytes": total, "largest_layer_bytes": largest}))
        for precision, scale in (("float32", 1), ("bfloat16", 2)):
            rows.append(row("accelerate-corrected", model, {"mode": "load", "precision": precision, "head": "lm"}, {},
                            {"total_bytes": corrected_bytes(whole, scale)}))
    return rows


# ---- PyTorch's own sharding, in a group of processes that is only pretended ----

def group_of(size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=size)
    return init_device_mesh("cpu", (size,))


def built_on_meta(constructor, model, dtype):
    with torch.device("meta"):
        built = constructor.from_config(config_of(model), dtype=dtype)
    built.tie_weights()
    return built


def local_bytes(model):
    """Of the first rank; tied parameters once."""
    unique = {id(p): p for p in model.parameters()}.values()
    local = [p.to_local() if hasattr(p, "to_local") else p for p in unique]
    return sum(p.numel() * p.element_size() for p in local)


def fsdp_rows():
    from torch.distributed.fsdp import fully_shard
    cases = [("gpt2", "float32", 8, transformers.AutoModelForCausalLM),
             ("gpt2", "bfloat16", 3, transformers.AutoModelForCausalLM),
             ("bert-base-cased", "float32", 7, transformers.AutoModelForMaskedLM),
             ("meta-llama/Llama-2-7b-hf", "bfloat16", 64, transformers.AutoModelForCausalLM),
             ("Qwen/Qwen2-0.5B", "bfloat16", 5, transformers.AutoModelForCausalLM),
             ("google/gemma-2-2b", "bfloat16", 7, transformers.AutoModelForCausalLM)]
    rows = []
    for model, precision, size, constructor in cases:
        mesh = group_of(size)
        built = built_on_meta(constructor, model, getattr(torch, precision))
        fully_shard(built, mesh=mesh)
        weights = local_bytes(built)
        rows.append(row("shares", model, {"mode": "train", "precision": precision}, {"data": size, "fsdp": True},
                        {"weights_bytes": weights, "gradients_bytes": weights}))
    return rows


def tensor_rows():
    """Linear layers by the plan that transformers gives the model; embedding and head by rows of the vocabulary."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.distributed.tensor import Replicate
    styles = {"colwise": ColwiseParallel, "rowwise": RowwiseParallel, "colwise_gather_output": ColwiseParallel}
    cases = [("meta-llama/Llama-2-7b-hf", 2), ("meta-llama/Llama-3.1-8B", 8), ("mistralai/Mistral-7B-v0.1", 4),
             ("Qwen/Qwen2-7B", 4), ("Qwen/Qwen3-8B", 8), ("google/gemma-2-2b", 4)]
    rows = []
    for model, size in cases:
        mesh = group_of(size)
        built = built_on_meta(transformers.AutoModelForCausalLM, model, torch.bfloat16)
        plan = {}
        for pattern, style in built.config.base_model_tp_plan.items():
            if style in styles:
                plan["model." + pattern] = styles[style]()
        plan["model.embed_tokens"] = RowwiseParallel(input_layouts=Replicate())
        tied = built.config.tie_word_embeddings
        if not tied:
            plan["lm_head"] = ColwiseParallel()
        parallelize_module(built, mesh, plan)
        if tied:  # dividing makes new parameters, which are no longer one
            built.lm_head.weight = built.model.embed_tokens.weight
        rows.append(row("shares", model, {"mode": "load", "precision": "bfloat16", "head": "lm"}, {"tensor": size},
                        {"weights_bytes": local_bytes(built)}))
    return rows


def main():
    parser = argparse.ArgumentParser()
    for name in ("cookbook", "megatron", "deepspeed"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "accelerate", "hf-mem")}
    versions |= {name: git_commit(getattr(options, name)) for name in ("cookbook", "megatron", "deepspeed")}
    rows = (accelerate_rows() + cookbook_rows(options.cookbook) + megatron_rows(options.megatron) +
            deepspeed_rows(options.deepspeed) + hf_mem_rows() + fsdp_rows() + tensor_rows())
    print('{"versions": ' + json.dumps(versions) + ',\n "rows": [')
    print(",\n".join("  " + json.dumps(entry) for entry in rows))
    print("]}")


if __name__ == "__main__":
    main()
