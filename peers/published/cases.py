"""The case that a published measurement is, for assay: what its source says, in the words of a suite.

A rule here follows from a source, never from a figure: what a source leaves open has the default of the program that
was run. case_of(row, source) gives a Case, or raises NotPredicted with the reason, which the page shows.
"""
import fnmatch
import re
from dataclasses import dataclass, field

MODELS = "peers/published/models/"


class NotPredicted(Exception):
    """Why no case stands for a row: one sentence for the page."""


@dataclass
class Case:
    model: str
    mode: str
    fields: dict = field(default_factory=dict)
    stage: str = None  # the stage whose peak was read; None: the highest
    note: str = ""  # what stands in for something else


# Names that sources give to models of the catalogue, by what their configurations say.
SAME_SHAPES = {
    "EleutherAI/gpt-neo-125M": "EleutherAI/gpt-neo-125m",
    "T5-small": "google-t5/t5-small",
    "cerebras/Cerebras-GPT-111M": MODELS + "Cerebras-GPT-111M",
    "distilbert/distilgpt2": "distilgpt2",
    "openai-community/gpt2": "gpt2",
    "meta-llama/Llama-3.2-3B-Instruct": "meta-llama/Llama-3.2-3B",
    "Qwen/Qwen2-0.5B-Instruct": MODELS + "Qwen2-0.5B-Instruct",
    "Qwen/Qwen2-1.5B-Instruct": MODELS + "Qwen2-1.5B-Instruct",
    "bert-large": "bert-large-uncased",
    "google-bert/bert-base-cased": "bert-base-cased",
    "google-bert/bert-large-cased": "bert-large-cased",
    "NousResearch/Llama-2-7b-hf": "meta-llama/Llama-2-7b-hf",
    "NousResearch/Llama-2-13b-hf": "meta-llama/Llama-2-13b-hf",
    "NousResearch/Llama-2-70b-hf": "meta-llama/Llama-2-70b-hf",
    "lmsys/vicuna-7b-v1.5": "meta-llama/Llama-2-7b-hf",
    "BAAI/bge-base-en-v1.5": "bert-base-uncased",
    "TheBloke/LLaMa-7B-GPTQ": MODELS + "llama-7b",
    "TheBloke/LLaMa-13B-GPTQ": MODELS + "llama-13b",
    "TheBloke/LLaMa-65B-GPTQ": MODELS + "llama-65b",
    "TheBloke/Llama-2-7B-GPTQ": "meta-llama/Llama-2-7b-hf",
    "TheBloke/vicuna-7B-v1.5-GPTQ": "meta-llama/Llama-2-7b-hf",
    "TheBloke/Mistral-7B-v0.1-GPTQ": "mistralai/Mistral-7B-v0.1",
    "IlyasMoutawwakil/vicuna-7b-v1.5-awq-gemm": "meta-llama/Llama-2-7b-hf",
    "IlyasMoutawwakil/vicuna-7b-v1.5-awq-gemv": "meta-llama/Llama-2-7b-hf",
    "ybelkada/test-mistral-7b-v0.1-awq": "mistralai/Mistral-7B-v0.1",
    "Llama 2 13 B": "meta-llama/Llama-2-13b-hf",
    "StableLM Alpha 3 B": MODELS + "stablelm-alpha-3b",
    "llama-2-7b": "meta-llama/Llama-2-7b-hf",
    "llama-3-8b": "meta-llama/Meta-Llama-3-8B",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B",
    "llama-3.2-1b": "meta-llama/Llama-3.2-1B",
    "llama-3.2-3b": "meta-llama/Llama-3.2-3B",
    "tiny-llama": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "yi-6b-chat": MODELS + "Yi-6B",
    "yi-34b-chat": MODELS + "Yi-34B",
    "openbuddy-zephyr-7b-chat": "mistralai/Mistral-7B-v0.1",
}
IMAGE_MODELS = {
    ("vgg11", 224): "timm/vgg11.tv_in1k",
    ("vgg13", 224): "timm/vgg13.tv_in1k",
    ("vgg16", 224): "timm/vgg16.tv_in1k",
    ("vgg19", 224): "timm/vgg19.tv_in1k",
    ("resnet18", 32): MODELS + "resnet18-32",
    ("resnet34", 32): MODELS + "resnet34-32",
    ("resnet18", 224): "timm/resnet18.a1_in1k",
    ("resnet34", 224): "timm/resnet34.a1_in1k",
    ("resnet50", 224): "timm/resnet50.a1_in1k",
    ("resnet101", 224): "timm/resnet101.a1_in1k",
    ("resnet152", 224): "timm/resnet152.a1_in1k",
    ("deit_tiny_patch16_224", 224): "timm/deit_tiny_patch16_224.fb_in1k",
    ("deit_small_patch16_224", 224): "timm/deit_small_patch16_224.fb_in1k",
    ("deit_base_patch16_224", 224): "timm/deit_base_patch16_224.fb_in1k",
    ("vit_tiny_patch16_224", 224): "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k",
    ("vit_small_patch16_224", 224): "timm/vit_small_patch16_224.augreg_in21k_ft_in1k",
    ("vit_base_patch16_224", 224): "timm/vit_base_patch16_224.augreg2_in21k_ft_in1k",
    ("vit_large_patch16_224", 224): "timm/vit_large_patch16_224.augreg_in21k_ft_in1k",
    ("convnext_tiny", 224): "facebook/convnext-tiny-224",
    ("convnext_small", 224): "facebook/convnext-small-224",
    ("convnext_base", 224): "facebook/convnext-base-224",
    ("convnext_large", 224): "facebook/convnext-large-224",
    ("ResNet101", 86): MODELS + "resnet101-86",
    ("ResNet152", 86): MODELS + "resnet152-86",
    ("ConvNeXtTiny", 86): MODELS + "convnext_tiny-86",
    ("ConvNeXtBase", 86): MODELS + "convnext_base-86",
    ("RegNetY400MF", 86): MODELS + "regnety_004-86",
}


def text_model(name):
    return SAME_SHAPES.get(name, name)


def image_model(name, size):
    short = name.split("/")[-1]
    if (short, size) not in IMAGE_MODELS:
        raise NotPredicted(
            "VGG at 86 pixels: the pooling enlarges, which is not modelled"
            if short.startswith("VGG") else f"{short} is of a family that is not modelled")
    return IMAGE_MODELS[short, size]


# What torch.optim.NAME(params) is on a GPU.
OPTIMIZERS = {"Adam": "adam-foreach", "AdamW": "adamw-foreach", "SGD": "sgd"}


def xmem(row, source):
    s = row["settings"]
    if row["quality"] == "X":
        raise NotPredicted("the run was out of memory; its figure is where it ended")
    if s["optimizer"] not in OPTIMIZERS:
        raise NotPredicted(f"the optimizer {s['optimizer']} of torch.optim is not modelled")
    fields = {"precision": "float32", "batch": s["batch"], "optimizer": OPTIMIZERS[s["optimizer"]]}
    # `outputs = model(...)`: those of one iteration live until the next has made its own.
    fields["outputs"] = "kept"
    if s["zero_grad"] != "unknown":
        fields["zero_grad"] = "before-forward"  # the runner's default where the record leaves two places open
    if s["image"]:
        # PyTorch's default: convolutions may use TF32, products may not.
        return Case(image_model(row["model"], 86), "train", {**fields, "tf32_convolutions": True})
    # The configuration's default holds in training too.
    fields["use_cache"] = True
    if row["settings"]["seq"].startswith("random"):
        note = "text of at most 128 tokens, predicted for 128"
    else:
        note = ""
    # gpt-neo and T5 of transformers 4.51 have no sdpa.
    eager = "gpt-neo" in row["model"] or row["model"].startswith("T5")
    fields["seq"] = 128
    if eager:
        fields["attention"] = "eager"
    return Case(text_model(row["model"]), "train", fields, note=note)


def gpumemnet_real(row, source):
    s = row["settings"]
    # The script assigns outputs and loss in its loop, without deleting them.
    fields = {"precision": "float32", "batch": s["batch"], "optimizer": "adam-foreach", "outputs": "kept",
              "zero_grad": "before-forward"}
    if "image" in s:
        return Case(image_model(row["model"], s["image"]), "train", {**fields, "tf32_convolutions": True})
    return Case(text_model(row["model"]), "train", {**fields, "seq": s["seq"]})


def carma(row, source):
    s = row["settings"]
    # The scripts assign outputs and loss in their loops, without deleting them; the encoders are given a mask.
    fields = {"precision": "float32", "batch": s["batch"], "outputs": "kept"}
    if "image" in s:
        fields["optimizer"] = "adamw-foreach" if "AdamW" in s["optimizer"] else "adam-foreach"
        fields["zero_grad"] = "before-forward"
        return Case(image_model(row["model"], s["image"]), "train", {**fields, "tf32_convolutions": True})
    return Case(text_model(row["model"]), "train",
                {**fields, "optimizer": "adamw-foreach", "seq": s["seq"], "padding": True})


def gpumemnet_timm(row, source):
    s = row["settings"]
    # train.py: torch.backends.cudnn.benchmark = True, in every release.
    fields = {"precision": "float32", "batch": s["batch"], "optimizer": "sgd-momentum", "tf32_convolutions": True,
              "cudnn_benchmark": True}
    return Case(image_model(row["model"], s["image"]), "train", fields)


def schedtune(row, source):
    s = row["settings"]
    if row["gpu"] == "Tesla K80":
        raise NotPredicted("a GPU of sm_37 is not modelled")
    fields = {"precision": "float32", "batch": s["batch"], "optimizer": "sgd-momentum"}
    return Case(image_model(row["model"], s["image"]), "train", {**fields, "tf32_convolutions": True},
                note="optimizer not stated: SGD with momentum assumed")


# What the quantize_config.json of these checkpoints says, beside 4 bits and groups of 128 in the order of the inputs.
PACKED = {
    "TheBloke/LLaMa-65B-GPTQ": {"group_size": 0, "act_order": True},
    "TheBloke/Mistral-7B-v0.1-GPTQ": {"act_order": True},
}


def packed_fields(row):
    """Of the checkpoints of GPTQ and AWQ that optimum-benchmark loaded; the kernel is named by the experiment."""
    fields = {"precision": "int4", "quantize": "awq" if "awq" in row["model"].lower() else "gptq",
              **PACKED.get(row["model"], {})}
    for kernel in ("exllamav2", "gemv"):
        if kernel in row["id"]:
            fields["quantized_kernel"] = kernel
    return fields


def optimum(row, source):
    s = row["settings"]
    if s.get("backend", "pytorch") != "pytorch":
        raise NotPredicted("onnxruntime is not modelled")
    kind = s.get("quantization") or s.get("experiment", "")
    packed = {}
    if re.search("gptq|awq", row["model"], re.IGNORECASE):
        packed = packed_fields(row)
    elif kind.startswith(("gptq", "awq")):
        raise NotPredicted("the quantised checkpoint is not named")
    if "bge" in row["model"]:
        return Case("bert-base-uncased", "infer",
                    {"precision": "float32", "batch": s["batch"], "seq": s["seq"], "head": "bare",
                     "attention": "eager"})
    if "bnb" in kind:
        raise NotPredicted("which of bitsandbytes' formats was used is not stated")
    fields = {"precision": "float16", "batch": s["batch"], "seq": s["seq"]}
    if row["mode"] == "infer":
        fields["use_cache"] = True  # the configuration's default: keys and values of all layers are returned
    if s.get("attention", "eager") == "eager":
        fields["attention"] = "eager"
    if row["mode"] == "generate":
        if not s["new_tokens"]:
            raise NotPredicted("the number of new tokens is not recorded")
        fields["new_tokens"] = s["new_tokens"]
    return Case(text_model(row["model"]), row["mode"], {**fields, **packed})


def peft(row, source):
    s = row["settings"]
    # Its run.py: optimizer.zero_grad(), outputs = model(**batch), backward, clip_grad_norm_.
    fields = {"precision": "bfloat16", "batch": s["batch_size"], "seq": s["max_seq_length"],
              "optimizer": "adamw-foreach", "outputs": "kept", "use_cache": True, "zero_grad": "before-forward",
              "clip_grad": "foreach"}
    note = "the longest batch is not recorded; predicted for 768 tokens, where the tokenizer cuts"
    if s["method"] == "FULL":
        return Case(row["model"], "train", fields, note=note)
    usual = {"method", "r", "target_modules", "batch_size", "max_seq_length", "use_gc", "optimizer_type", "trainable"}
    if s["method"] != "LORA" or set(s) - usual or sorted(s["target_modules"]) != ["q_proj", "v_proj"]:
        raise NotPredicted("adapters other than LoRA on the projections that PEFT adapts by itself are not modelled")
    return Case(row["model"], "train", {**fields, "lora_rank": s["r"]}, note=note)


def qwen_speed(row, source):
    s = row["settings"]
    if s["quantization"] == "FP8":
        raise NotPredicted("Qwen's weights in blocks of FP8 are not modelled")
    if s["gpus"] > 1:
        raise NotPredicted("generation on several GPUs is not modelled")
    if "A14B" in row["model"] and s["quantization"] != "BF16":
        raise NotPredicted("packed weights of experts are not modelled")
    # The base models of Qwen2 have 131,072 positions, these 32,768, of which old releases keep tables in each layer.
    name = SAME_SHAPES.get(row["model"], row["model"].replace("-Instruct", ""))
    weights = {"BF16": {"precision": "bfloat16"},
               "GPTQ-Int8": {"precision": "int8", "quantize": "gptq"},
               "GPTQ-Int4": {"precision": "int4", "quantize": "gptq"},
               "AWQ": {"precision": "int4", "quantize": "awq"},
               "AWQ-INT4": {"precision": "int4", "quantize": "awq"}}[s["quantization"]]
    if s["quantization"].startswith("AWQ") and re.search(r"Qwen2\.5-(0\.5|1\.5|3)B", row["model"]):
        # Their heads are tied, and AutoAWQ stores a copy: 0.2.5, models/base.py, save_quantized clones every tensor.
        weights["stored_head"] = True
    if "72B" in name and s["quantization"] != "BF16":
        # 29,696 columns instead of 29,568, so that groups divide among GPUs: issues 578 and 774 of QwenLM/Qwen3.
        name = MODELS + "Qwen2-72B-padded"
    return Case(name, "generate", {**weights, "batch": 1, "seq": s["seq"], "new_tokens": s["new_tokens"]})


def ms_swift(row, source):
    s = row["settings"]
    if s["quantization"] != "bf16":
        raise NotPredicted("this quantisation under adapters is not modelled")
    if row["model"] not in SAME_SHAPES:
        raise NotPredicted("model code of the hub (Qwen-1, ChatGLM, Baichuan) is not modelled")
    if row["measured"][0]["published"] == "65.03":
        raise NotPredicted("a model on two GPUs that is trained is not modelled")
    return Case(text_model(row["model"]), "train",
                {"precision": "bfloat16", "batch": s["batch"], "seq": s["max_length"], "optimizer": "adamw-foreach",
                 "lora_rank": s["lora_rank"], "checkpointing": s["checkpointing"]})


def fms_acceleration(row, source):
    s = row["settings"]
    if row["model"].split("/")[0] in ("bigcode", "ibm"):
        raise NotPredicted("GPTBigCode and PowerLM are not modelled")
    fields = {"precision": s["torch_dtype"], "batch": s["batch"], "seq": s["seq"] if s["packing"] else 512,
              "optimizer": "adamw-foreach", "checkpointing": True}
    if "lora_rank" in s:
        fields = {**fields, "lora_rank": s["lora_rank"], "lora_targets": "projections"}
    if "quantization" in s:
        if s["framework"].startswith("baseline"):
            raise NotPredicted("TRL's cast of embeddings and head back to bfloat16, behind prepare_kbit, is not modelled")
        if "mixtral" in row["model"].lower():
            raise NotPredicted("experts that are layers of their own, as bitsandbytes quantises them, are not modelled")
        if not s["packing"]:
            raise NotPredicted("the longest batch is not recorded, and the peak is that of a pass")
        # Its framework_plugin_bnb.py asks for double quantisation; it freezes the model and casts nothing.
        fields = {**fields, "precision": "int4", "double_quant": True, "autocast": True, "float32_outputs": True}
    if "lora_rank" in s:
        fields["loss_detached"] = True  # the Trainer's training_step returns loss.detach()
    note = "" if s["packing"] else "lengths are not recorded; the peak is that of the step, which does not depend on them"
    return Case(text_model(row["model"]), "train", fields, note=note)


def litgpt(row, source):
    s = row["settings"]
    if row["model"] not in SAME_SHAPES:
        raise NotPredicted("phi, CodeLlama and litgpt's Falcon and Gemma are not predicted")
    if row["mode"] != "train" or "adapter" in s.get("command", ""):
        raise NotPredicted("this program of litgpt is not modelled")
    if "4x" in s.get("machine", "") or s.get("gpus", "1").startswith(("2", "4")):
        raise NotPredicted("litgpt on several GPUs is not modelled")
    if "config" in s:
        if "precision" not in s:
            raise NotPredicted("its configuration is not at hand")
        if s.get("lora_projection") == "true":
            raise NotPredicted("adapters of the head are not modelled")
        if "lora_r" not in s:
            return Case(text_model(row["model"]), "train",
                        {"program": "litgpt", "precision": "bfloat16", "batch": s["micro_batch"],
                         "seq": s["max_seq_length"], "accumulate": int(s["global_batch_size"]) // s["micro_batch"]},
                        note="the longest sample is not recorded; predicted for 512 tokens, where it is cut")
        fields = {"batch": s["micro_batch"], "seq": s["max_seq_length"], "lora_rank": int(s["lora_r"]),
                  "accumulate": int(s["global_batch_size"]) // s["micro_batch"]}
        quantized = s.get("quantize", "")
        note = "the longest sample is not recorded; predicted for 512 tokens, where it is cut"
    else:
        fields = {"batch": s["micro_batch"], "seq": s["longest_sequence"], "lora_rank": 8,
                  "accumulate": s["global_batch"] // s["micro_batch"]}
        quantized = s.get("quantization", "")
        note = ""
    fields["precision"] = "int4" if quantized.startswith("bnb.nf4") else "bfloat16"
    if quantized == "bnb.nf4-dq":
        fields["double_quant"] = True
    fields["optimizer"] = "adamw-foreach"
    if "config" in s:
        # litgpt 0.5, finetune/lora.py: model(input_ids, lm_head_chunk_size=128), logits by that name. The rows without a
        # configuration are lit-gpt's of 2023, whose scripts and layers are not followed.
        fields.update(loss="chunked-head", outputs="kept", lora_dropout=s.get("lora_dropout", 0))
    return Case(text_model(row["model"]), "train", fields, note=note)


def torchtune(row, source):
    s = row["settings"]
    if row["measured"][0]["quantity"] == "unknown":
        raise NotPredicted("optimizer and checkpointing of the recipe are not stated")
    if s["technique"] != "packed":
        raise NotPredicted(
            "the text of unpacked samples is not stated" if "not packed" in s["technique"]
            else "torch.compile and offloaded activations are not modelled")
    # its own loss in chunks is another line of the source's table
    return Case(row["model"], "train", {"program": "torchtune", "precision": "bfloat16", "batch": s["batch"],
                                        "seq": s["seq"], "optimizer": "adamw-fused", "loss": "composed"})


def never(reason):
    def refuse(row, source):
        raise NotPredicted(reason)
    return refuse


RULES = {
    "xmem": xmem,
    "gpumemnet-real": gpumemnet_real,
    "gpumemnet-timm": gpumemnet_timm,
    "carma": carma,
    "schedtune": schedtune,
    "optimum-llama": optimum,
    "optimum-nvml": optimum,
    "peft-metamath": peft,
    "qwen2.5-speed": qwen_speed,
    "qwen2-speed": qwen_speed,
    "qwen3-speed": qwen_speed,
    "ms-swift": ms_swift,
    "fms-acceleration": fms_acceleration,
    "litgpt": litgpt,
    "torchtune": torchtune,
    "qwen1-profile": never("model code of the hub (Qwen-1) is not modelled"),
    "hf-octocoder": never("GPTBigCode is not modelled"),
    "liger-kernels": never("single operators are no case; tests hold the tape's rules against them"),
    "logs": never("the case is not complete, or its program (Megatron-LM) is not modelled"),
    "torchao": never("torch.compile is not modelled"),
    "torchtitan": never("a step of FSDP with float32 reductions, or torch.compile, is not modelled"),
}


# The releases that a case can name; what is newer does as the newest.
OLDEST = {"transformers": (4, 31), "torch": (2, 1), "bitsandbytes": (0, 41)}
NEWEST = {"transformers": (5, 23), "torch": (2, 11), "bitsandbytes": (0, 50)}


def release_of(versions):
    """As `transformers=4.35+torch=2.1`, of the libraries whose version is stated and in the table; "": none."""
    words = []
    for library, oldest in OLDEST.items():
        found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", versions.get(library, ""))
        if found:
            number = (int(found[1]), int(found[2]))
            if library == "bitsandbytes" and number == (0, 43) and found[3] in ("0", "1"):
                number = (0, 42)  # what docs/RELEASES.md says of these two
            if oldest <= number < NEWEST[library]:
                words.append(f"{library}={number[0]}.{number[1]}")
    return "+".join(words)


def case_of(row, source):
    case = RULES[source["source"]](row, source)
    inferred = source.get("inferred", {})
    if not fnmatch.fnmatch(row["id"], inferred.get("rows", "*")):
        inferred = {}
    versions = {**inferred, **source.get("versions", {}), **row.get("versions", {})}
    if case.fields["precision"] != "int4" or "quantize" in case.fields:
        versions.pop("bitsandbytes", None)  # it has no part in the case
    release = release_of(versions)
    if release:
        case.fields["release"] = release
    if "module_loading" in inferred:
        case.fields["module_loading"] = inferred["module_loading"]
    return case
