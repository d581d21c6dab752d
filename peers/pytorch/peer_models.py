"""The models that are put beside ours: configurations only, nothing is downloaded."""
import contextlib
import copy
import json
import os
import re

import torch
import torchvision
import transformers
from transformers import (BloomConfig, BloomForCausalLM, BloomModel, DistilBertConfig, DistilBertForMaskedLM,
                          DistilBertModel, FalconConfig, FalconForCausalLM, FalconModel, OPTConfig, OPTForCausalLM,
                          OPTModel, RobertaConfig, RobertaForMaskedLM, RobertaModel, XLMRobertaConfig,
                          XLMRobertaForMaskedLM, XLMRobertaModel)
from transformers import (BertConfig, BertForMaskedLM, BertModel, ConvNextConfig, ConvNextForImageClassification,
                          ConvNextModel, Gemma2Config, Gemma2ForCausalLM, Gemma2Model, Gemma3ForCausalLM,
                          Gemma3TextConfig, Gemma3TextModel, GemmaConfig, GemmaForCausalLM, GemmaModel, GPTNeoXConfig,
                          GPTNeoXForCausalLM, GPTNeoXModel, GPT2Config, GPT2LMHeadModel, GPT2Model, LlamaConfig,
                          LlamaForCausalLM, LlamaModel, MistralConfig, MistralForCausalLM, MistralModel, Phi3Config,
                          Phi3ForCausalLM, Phi3Model, Qwen2Config, Qwen2ForCausalLM, Qwen2Model, Qwen3Config,
                          Qwen3ForCausalLM, Qwen3Model, T5Config, T5ForConditionalGeneration, T5Model, ViTConfig,
                          ViTForImageClassification, ViTModel)

from shadow_autocast import CudaAutocast

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
QUANTIZED = ("int8", "int4")  # by bitsandbytes, computed in bfloat16

# name: (family, class with head and loss, class without, configuration); ResNets are torchvision's, without either
MODELS = {
    "bert-base-cased": ("bert", BertForMaskedLM, BertModel, BertConfig(vocab_size=28996)),
    "bert-large-uncased": ("bert", BertForMaskedLM, BertModel, BertConfig(
        vocab_size=30522, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)),
    "gpt2": ("gpt2", GPT2LMHeadModel, GPT2Model, GPT2Config()),
    "gpt2-medium": ("gpt2", GPT2LMHeadModel, GPT2Model, GPT2Config(n_embd=1024, n_layer=24, n_head=16)),
    "gpt2-xl": ("gpt2", GPT2LMHeadModel, GPT2Model, GPT2Config(n_embd=1600, n_layer=48, n_head=25)),
    "llama-3.2-1b": ("llama", LlamaForCausalLM, LlamaModel, LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, tie_word_embeddings=True,
        rms_norm_eps=1e-5)),
    "llama-2-7b": ("llama", LlamaForCausalLM, LlamaModel, LlamaConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=32, max_position_embeddings=4096)),
    "llama-mha": ("llama", LlamaForCausalLM, LlamaModel, LlamaConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=2752, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=16, max_position_embeddings=4096)),
    "qwen2.5-0.5b": ("llama", Qwen2ForCausalLM, Qwen2Model, Qwen2Config(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, max_position_embeddings=32768, tie_word_embeddings=True)),
    "t5-base": ("t5", T5ForConditionalGeneration, T5Model, T5Config(
        d_model=768, d_ff=3072, num_layers=12, num_heads=12, d_kv=64, decoder_start_token_id=0)),
    "vit-base": ("vit", ViTForImageClassification, ViTModel, ViTConfig(num_labels=1000)),
    "resnet18": ("resnet", torchvision.models.resnet18, None, None),
    "resnet50": ("resnet", torchvision.models.resnet50, None, None),
    "resnet152": ("resnet", torchvision.models.resnet152, None, None),
}

# model_type of a config.json: as above, with the class of the configuration
FAMILIES = {
    "deepseek_v2": ("llama", transformers.DeepseekV2ForCausalLM, transformers.DeepseekV2Model,
                    transformers.DeepseekV2Config),
    "deepseek_v3": ("llama", transformers.DeepseekV3ForCausalLM, transformers.DeepseekV3Model,
                    transformers.DeepseekV3Config),
    "mixtral": ("llama", transformers.MixtralForCausalLM, transformers.MixtralModel, transformers.MixtralConfig),
    "qwen2_moe": ("llama", transformers.Qwen2MoeForCausalLM, transformers.Qwen2MoeModel, transformers.Qwen2MoeConfig),
    "qwen3_moe": ("llama", transformers.Qwen3MoeForCausalLM, transformers.Qwen3MoeModel, transformers.Qwen3MoeConfig),
    "bert": ("bert", BertForMaskedLM, BertModel, BertConfig),
    "gemma": ("llama", GemmaForCausalLM, GemmaModel, GemmaConfig),
    "gemma2": ("llama", Gemma2ForCausalLM, Gemma2Model, Gemma2Config),
    "gemma3_text": ("llama", Gemma3ForCausalLM, Gemma3TextModel, Gemma3TextConfig),
    "gpt_neox": ("llama", GPTNeoXForCausalLM, GPTNeoXModel, GPTNeoXConfig),
    "gpt2": ("gpt2", GPT2LMHeadModel, GPT2Model, GPT2Config),
    "gpt_neo": ("gpt_neo", transformers.GPTNeoForCausalLM, transformers.GPTNeoModel, transformers.GPTNeoConfig),
    "llama": ("llama", LlamaForCausalLM, LlamaModel, LlamaConfig),
    "mistral": ("llama", MistralForCausalLM, MistralModel, MistralConfig),
    "phi3": ("llama", Phi3ForCausalLM, Phi3Model, Phi3Config),
    "t5": ("t5", T5ForConditionalGeneration, T5Model, T5Config),
    "qwen2": ("llama", Qwen2ForCausalLM, Qwen2Model, Qwen2Config),
    "qwen3": ("llama", Qwen3ForCausalLM, Qwen3Model, Qwen3Config),
    "bloom": ("bloom", BloomForCausalLM, BloomModel, BloomConfig),
    "distilbert": ("distilbert", DistilBertForMaskedLM, DistilBertModel, DistilBertConfig),
    "falcon": ("falcon", FalconForCausalLM, FalconModel, FalconConfig),
    "opt": ("opt", OPTForCausalLM, OPTModel, OPTConfig),
    "roberta": ("bert", RobertaForMaskedLM, RobertaModel, RobertaConfig),
    "vit": ("vit", ViTForImageClassification, ViTModel, ViTConfig),
    "convnext": ("convnext", ConvNextForImageClassification, ConvNextModel, ConvNextConfig),
    "xlm-roberta": ("bert", XLMRobertaForMaskedLM, XLMRobertaModel, XLMRobertaConfig),
}
CLASSIFIERS = ("resnet", "vgg", "timm_vit", "regnet")  # images in, logits out, no loss of their own
IMAGES = ("vit", "convnext", *CLASSIFIERS)
FOLDER = os.path.dirname(os.path.abspath(__file__))
CATALOGUE = os.path.join(FOLDER, "..", "..", "models", "catalogue")


def configured(path):
    """The row of a config.json, which our own program reads too; KeyError where its family has none.

    Of timm's networks the configuration is a dictionary. ResNets of usual widths are torchvision's, all others timm's own.
    """
    with open(path, encoding="utf-8") as source:
        raw = json.load(source)
    if "architecture" not in raw:
        family, with_head, bare, config_class = FAMILIES[raw["model_type"]]
        return family, with_head, bare, config_class.from_json_file(path)
    architecture = raw["architecture"]
    family = ("timm_vit" if architecture.startswith(("vit_", "deit_")) else
              "regnet" if architecture.startswith("regnet") else architecture.rstrip("0123456789"))
    if family not in CLASSIFIERS:
        raise KeyError(architecture)

    def make():
        if family == "resnet" and "model_args" not in raw:
            return getattr(torchvision.models, architecture)(num_classes=raw["num_classes"])
        import timm  # here alone: other models do without it
        arguments = {key: tuple(value) if isinstance(value, list) else value
                     for key, value in raw.get("model_args", {}).items()}
        if "cfg" in arguments:  # an argument of the class that create_model does not pass on
            return timm.models.vgg.VGG(num_classes=raw["num_classes"], **arguments)
        return timm.create_model(architecture, num_classes=raw["num_classes"], **arguments)
    return family, make, None, {"image_size": raw["pretrained_cfg"]["input_size"][-1], "num_labels": raw["num_classes"]}


def model_row(name):
    """The row of a name: one of MODELS, else of the catalogue that assay reads. KeyError where it is in neither."""
    if name not in MODELS:
        path = os.path.join(CATALOGUE, name, "config.json")
        if not os.path.isfile(path):
            raise KeyError(name)
        MODELS[name] = configured(path)
    return MODELS[name]


# The tiny models of the shadow; ResNets of this size it makes of torchvision's own.
TINY_FOLDER = os.path.join(FOLDER, "tiny")
for folder in ("bert", "bert-dropout", "gpt2", "gpt2-dropout", "gpt2-wide", "llama", "llama-gqa", "qwen2", "roberta", "vit"):
    MODELS["tiny/" + folder] = configured(os.path.join(TINY_FOLDER, folder, "config.json"))


def storage_dtype(case):
    """In which dtype a case keeps its weights and images: autocast leaves them as they are, what is quantised besides."""
    precision = case["precision"]
    return DTYPES["bfloat16" if precision in QUANTIZED else "float32" if precision.startswith("amp") else precision]


def autocast_dtype(case):
    """That of torch.autocast around the pass, or None. autocast: around weights in 16 bits, or quantised."""
    if not case["precision"].startswith("amp") and not case.get("autocast"):
        return None
    return torch.float16 if case["precision"].endswith("float16") and "bf" not in case["precision"] else torch.bfloat16


def library_versions():
    return {"torch": torch.__version__, "transformers": transformers.__version__,
            "torchvision": torchvision.__version__}


LAYERS_FIELD = {"bert": "num_hidden_layers", "gpt2": "n_layer", "llama": "num_hidden_layers",
                "vit": "num_hidden_layers"}


def autocast_again():
    """For torch.utils.checkpoint: the recomputation runs under the autocast that the forward pass had."""
    active = CudaAutocast.active
    return contextlib.nullcontext(), CudaAutocast(active.dtype, active.cached) if active else contextlib.nullcontext()


# Of gradient_checkpointing_enable where CudaAutocast stands for autocast; a real GPU takes the library's defaults.
SHADOW_CHECKPOINTING = {"use_reentrant": False, "context_fn": autocast_again}


def attention_of(kind, attention):
    """What a class is asked for. sdpa is the usual value of a case: of a class that has none (BLOOM, ConvNeXt) it means
    what a user gets who asks for nothing. What is asked for by another name, the class has or the case is an error."""
    return None if attention == "sdpa" and not kind._supports_sdpa else attention


TASKS = {"sequence": transformers.AutoModelForSequenceClassification,
         "token": transformers.AutoModelForTokenClassification,
         "question": transformers.AutoModelForQuestionAnswering, "encoder": transformers.AutoModelForTextEncoding}

def class_of(case, with_head, bare, config):
    """The class of a case's head; a padding token is named, as programs name one before they batch."""
    if case["head"] == "embedding" and config.is_encoder_decoder:
        return transformers.T5EncoderModel
    if case["head"] not in TASKS:
        return bare if case["head"] in ("bare", "embedding") else with_head
    if config.pad_token_id is None:
        config.pad_token_id = 0
    return TASKS[case["head"]]._model_mapping[type(config)]


def build(case, device, checkpointing=SHADOW_CHECKPOINTING):
    """The model of a case on a device, in its storage dtype, values undefined; (family, model, config)."""
    family, with_head, bare, config = model_row(case["model"])
    dtype = storage_dtype(case)
    if family in CLASSIFIERS:
        if family == "timm_vit":
            import timm  # here alone
            timm.layers.set_fused_attn(case["attention"] != "eager")
        with torch.device(device):
            model = with_head()
        if case.get("checkpointing"):
            model.set_grad_checkpointing(True)
        return family, model if dtype == torch.float32 else model.to(dtype), config
    config = copy.deepcopy(config)
    if family not in IMAGES:
        config.use_cache = case.get("use_cache", False)
    if case.get("layers"):
        setattr(config, LAYERS_FIELD[family], case["layers"])
    kind = class_of(case, with_head, bare, config)
    with torch.device(device):
        model = kind._from_config(config, attn_implementation=attention_of(kind, case["attention"]), dtype=dtype)
    for name, buffer in list(model.named_buffers()):  # as from_pretrained leaves them, whatever the dtype
        if any(part in name for part in getattr(model, "_keep_in_fp32_modules_strict", None) or ()):
            owner, _, attribute = name.rpartition(".")
            setattr(model.get_submodule(owner), attribute, buffer.float())
    keep_float32(model, dtype)
    if case["precision"] in QUANTIZED:
        import shadow_bitsandbytes  # here alone, as peft below
        model = shadow_bitsandbytes.quantize(model, case["precision"], case.get("llm_int8_threshold", 0),
                                             case.get("double_quant", False))
    if case.get("reentrant"):  # what PEFT's own defaults come to
        checkpointing = {"use_reentrant": True}
    if case.get("prepare_kbit"):
        import peft
        peft.prepare_model_for_kbit_training(model, case["checkpointing"], checkpointing)
    elif case["checkpointing"]:
        model.gradient_checkpointing_enable(checkpointing)
    return family, adapt(model, case) if case.get("lora_rank") else model, config


def keep_float32(model, dtype):
    """What from_pretrained leaves in float32 of a float16 model: T5's wo."""
    if dtype == torch.float16:
        for path, module in model.named_modules():
            if path.rpartition(".")[2] in (getattr(model, "_keep_in_fp32_modules", None) or ()):
                module.float()


def attention_projections(model):
    """The paths of all linear layers in attention blocks: of Llama q_proj, k_proj, v_proj and o_proj."""
    return [path for path, module in model.named_modules()
            if re.search("attn|attention", path, re.IGNORECASE) and "weight" in dict(module.named_parameters(recurse=False))
            and module.weight.dim() == 2 and not isinstance(module, torch.nn.Embedding)]


def adapt(model, case):
    """The model with LoRA adapters; all but the rank, targets and dropout are LoraConfig's own defaults."""
    import peft  # here alone: other cases do without it
    targets = {"attention": None, "linear": "all-linear", "projections": attention_projections(model)}
    targets = targets[case["lora_targets"]]
    return peft.get_peft_model(model, peft.LoraConfig(r=case["lora_rank"], target_modules=targets,
                                                       lora_dropout=case.get("lora_dropout", 0.0)))


def image_shape(case, config):
    """(edge in pixels, classes) of an image model; without a configuration it is torchvision's."""
    if config is None:
        return case.get("image", 224), 1000
    if isinstance(config, dict):
        return config["image_size"], config["num_labels"]
    return config.image_size, config.num_labels


def make_inputs(case, family, config, device):
    """(inputs, labels): token ids are their own labels and one storage, as in causal and masked modelling tests. A padded
    batch is a dictionary with its attention mask, and labels of its own."""
    batch = case["batch"]
    if family in IMAGES:
        size, classes = image_shape(case, config)
        pixels = torch.zeros(batch, 3, size, size, device=device, dtype=storage_dtype(case))
        return pixels, torch.zeros(batch, device=device, dtype=torch.int64) % classes
    ids = torch.zeros(batch, case["seq"], device=device, dtype=torch.int64)
    if case["head"] in TASKS and case["head"] != "encoder":
        return make_task_inputs(case, ids)
    if case.get("padding"):
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, torch.zeros_like(ids)
    return ids, ids


def make_task_inputs(case, ids):
    """The same of another head: a label of each sequence or token, or the first and the last token of each answer."""
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)} if case.get("padding") else ids
    if case["mode"] != "train":
        return inputs, ids
    row = torch.zeros(case["batch"], device=ids.device, dtype=torch.int64)
    labels = {"sequence": lambda: row, "token": lambda: torch.zeros_like(ids),
              "question": lambda: {"start_positions": row, "end_positions": torch.zeros_like(row)}}[case["head"]]()
    return inputs, labels


def mean_pooled(rows, seen):
    """Pooling of sentence-transformers (5.2), pooling_mode_mean_tokens, line by line."""
    expanded = seen.unsqueeze(-1).expand(rows.size()).to(rows.dtype)
    sums = torch.sum(rows * expanded, 1)
    counts = torch.clamp(expanded.sum(1), min=1e-9)
    return sums / counts


def converted(case, model, *arguments, **keywords):
    """What a model returns that accelerate.prepare() has wrapped: autocast around forward, and around that its copies."""
    from accelerate.utils import convert_outputs_to_fp32  # here alone: other cases do without it

    def under_autocast(*arguments, **keywords):
        with CudaAutocast(autocast_dtype(case)):
            return model(*arguments, **keywords)
    return convert_outputs_to_fp32(under_autocast)(*arguments, **keywords)


def trainer_smoothed(case, family, out, labels):
    """As the Trainer's compute_loss calls its LabelSmoother; the count of items is a number on the device."""
    from transformers.trainer_pt_utils import LabelSmoother
    shifts = family not in (*IMAGES, "bert", "roberta", "distilbert", "t5")
    items = torch.ones((), device=labels.device)
    return LabelSmoother(epsilon=0.1)(out, labels, shift_labels=shifts, num_items_in_batch=items)


def forward(case, family, model, inputs, labels, names=None):
    """The loss when training; else what the user gets. names: the names of a program that keeps its `outputs`; the object
    gets that name as soon as the model has returned, and what had it before goes."""
    train = case["mode"] == "train"
    if family in CLASSIFIERS:
        out = converted(case, model, inputs) if case.get("float32_outputs") else model(inputs)
        if names is not None:
            names["outputs"] = out
        return torch.nn.functional.cross_entropy(out, labels) if train else out
    smooths = case.get("label_smoothing") == "trainer"
    keywords = {"labels": labels} if train and not smooths else {}
    if isinstance(labels, dict):
        keywords = labels
    if case.get("logits") == "last" and family in ("gpt2", "gpt_neo", "llama", "opt", "bloom", "falcon"):
        keywords["logits_to_keep"] = 1
    if family == "t5" and not train and case["head"] not in ("encoder", "embedding"):
        keywords["decoder_input_ids"] = labels
    if not isinstance(inputs, dict):
        inputs = {"pixel_values" if family in IMAGES else "input_ids": inputs}
    out = converted(case, model, **inputs, **keywords) if case.get("float32_outputs") else model(**inputs, **keywords)
    if names is not None:
        names["outputs"] = out
    if case["head"] == "embedding":
        seen = inputs.get("attention_mask")
        rows = out[0]
        del out
        return mean_pooled(rows, torch.ones(rows.shape[:2], device=rows.device, dtype=torch.int64) if seen is None else seen)
    if train and smooths:
        return trainer_smoothed(case, family, out, labels)
    return out.loss if train else out[0]


def is_bitsandbytes(optimizer):
    return optimizer is not None and optimizer.endswith("bit")


def make_optimizer(name, parameters):
    family, _, form = name.rpartition("-")
    if is_bitsandbytes(name):
        return make_bitsandbytes(name, parameters)
    if name == "adafactor-torch":
        return torch.optim.Adafactor(parameters, lr=1e-4)
    if name == "adafactor-transformers":
        from transformers.optimization import Adafactor
        return Adafactor(parameters, lr=1e-4, scale_parameter=False, relative_step=False)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4, foreach=True)
    if family == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, foreach=True)
    forms = {"foreach": {"foreach": True}, "single": {"foreach": False}, "fused": {"fused": True}}
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[family](parameters, lr=1e-4, **forms[form])


def make_bitsandbytes(name, parameters):
    """adam-8bit, paged-adamw-8bit, paged-adamw-32bit; on meta nothing native runs."""
    import bitsandbytes
    if parameters[0].device.type == "meta":
        import shadow_optimizer
        shadow_optimizer.pretend()
    words = name.split("-")
    made = {"adam": bitsandbytes.optim.Adam, "adamw": bitsandbytes.optim.AdamW}[words[-2]]
    return made(parameters, lr=1e-4, optim_bits=8 if words[-1] == "8bit" else 32, is_paged=words[0] == "paged")
