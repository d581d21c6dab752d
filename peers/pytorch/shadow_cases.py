"""Which cases the shadow runs; one dictionary each, with the identity fields of our own records."""
from shadow_autocast_cases import autocast_cases
from shadow_forward_cases import forward_cases
from shadow_head_cases import head_cases
from shadow_step_cases import step_cases

TEXT = ("bert-base-cased", "gpt2", "llama-3.2-1b", "llama-mha", "qwen2.5-0.5b")
TINY = ("tiny/bert-dropout", "tiny/gpt2-dropout", "tiny/llama", "tiny/llama-gqa", "tiny/qwen2", "tiny/vit")


def case_of(model, mode, precision, batch, seq=None, attention="sdpa", optimizer=None, head="lm", **more):
    case = {"id": None, "model": model, "mode": mode, "precision": precision, "batch": batch, "seq": seq,
            "attention": attention, "optimizer": optimizer, "head": head, "checkpointing": False, "accumulate": 1}
    case.update(more)
    extras = [k if v is True else f"{k}={v}" for k, v in more.items() if k != "events" and v not in (False, None)]
    if head != "lm":
        extras.append(head)
    case["id"] = "/".join([model, mode, precision, attention, str(batch), str(seq), str(optimizer), *extras])
    return case


def optimizer_for(precision):
    return "adam-foreach" if precision == "float32" else "adamw-fused"


def tiny_cases():
    """Two layers, a few tokens: small enough that every allocation can be read; their event lists are committed."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for model in TINY:
            seq = None if "vit" in model else 8
            for attention in ("sdpa", "eager"):
                out.append(case_of(model, "train", precision, 2, seq, attention, optimizer,
                                   events=attention == "sdpa" or precision != "amp-bfloat16"))
                out.append(case_of(model, "infer", precision, 2, seq, attention, events=attention == "sdpa"))
        out.append(case_of("resnet18", "train", precision, 2, None, "sdpa", optimizer, image=64, events=True))
        out.append(case_of("resnet18", "infer", precision, 2, None, "sdpa", image=64, events=True))
        out.append(case_of("tiny-vgg", "train", precision, 2, None, "sdpa", optimizer, events=True))
        out.append(case_of("tiny-vgg", "infer", precision, 2, None, "sdpa", events=True))
        out.append(case_of("tiny-convnext", "train", precision, 2, None, "eager", optimizer, events=True))
        out.append(case_of("tiny-convnext", "infer", precision, 2, None, "eager", events=True))
    for model in TINY:
        seq = None if "vit" in model else 8
        for optimizer in ("adam-single", "adamw-foreach", "sgd-momentum"):
            out.append(case_of(model, "train", "float32", 2, seq, "sdpa", optimizer))
        for precision in ("float32", "amp-bfloat16"):
            out.append(case_of(model, "train", precision, 2, seq, "sdpa", "adamw-fused", checkpointing=True,
                               events=model in ("tiny/gpt2-dropout", "tiny/llama")))
            out.append(case_of(model, "train", precision, 2, seq, "sdpa", "adamw-fused", accumulate=2,
                               events=model == "tiny/bert-dropout" and precision == "float32"))
    return out + padded_cases()


def padded_cases():
    """A batch of sequences of different lengths: an attention mask, and labels that do not count where it is 0."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        for model in ("tiny/bert-dropout", "tiny/gpt2-dropout", "tiny/llama-gqa"):
            for attention in ("sdpa", "eager"):
                out.append(case_of(model, "train", precision, 2, 8, attention, optimizer_for(precision), padding=True,
                                   events=precision == "float32" and attention == "eager" and "bert" not in model))
                out.append(case_of(model, "infer", precision, 2, 8, attention, padding=True))
        for model in ("bert-base-cased", "gpt2", "llama-3.2-1b"):
            for attention in ("sdpa", "eager"):
                for seq in (96, 100):
                    out.append(case_of(model, "train", precision, 2, seq, attention, optimizer_for(precision),
                                       padding=True))
                    out.append(case_of(model, "infer", precision, 2, seq, attention, padding=True))
        out.append(case_of("gpt2", "train", precision, 2, 96, "sdpa", optimizer_for(precision), checkpointing=True,
                           padding=True))
    return out


def layer_pairs():
    """L and L + 1 layers: their difference is one row of a per-layer table."""
    out = []
    for model in (*TEXT, "vit-base"):
        for precision in ("float32", "bfloat16", "amp-bfloat16"):
            for attention in ("sdpa", "eager"):
                seq = None if model == "vit-base" else 96
                for count in (1, 2):
                    out.append(case_of(model, "train", precision, 2, seq, attention, optimizer_for(precision),
                                       layers=count))
    return out


def full_cases():
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for attention in ("sdpa", "eager"):
            for model in TEXT:
                for batch, seq in ((1, 128), (2, 96), (8, 512)):
                    out.append(case_of(model, "train", precision, batch, seq, attention, optimizer))
                    out.append(case_of(model, "infer", precision, batch, seq, attention))
            for batch in (1, 8):
                out.append(case_of("vit-base", "train", precision, batch, None, attention, optimizer))
                out.append(case_of("vit-base", "infer", precision, batch, None, attention))
        for batch in (1, 8):
            out.append(case_of("facebook/convnext-tiny-224", "train", precision, batch, None, "eager", optimizer))
            out.append(case_of("facebook/convnext-tiny-224", "infer", precision, batch, None, "eager"))
        for model in ("resnet18", "resnet50", "timm/vgg16.tv_in1k"):
            for batch in (1, 8):
                out.append(case_of(model, "train", precision, batch, None, "sdpa", optimizer))
                out.append(case_of(model, "infer", precision, batch, None, "sdpa"))
        for model in TEXT + ("vit-base",):
            batch, seq = (8, None) if model == "vit-base" else (8, 512)
            out.append(case_of(model, "train", precision, batch, seq, "sdpa", optimizer, checkpointing=True))
            out.append(case_of(model, "train", precision, batch, seq, "sdpa", optimizer, accumulate=2))
        for model in ("gpt2", "llama-3.2-1b", "llama-mha", "qwen2.5-0.5b"):
            out.append(case_of(model, "infer", precision, 8, 512, "sdpa", logits="last"))
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer, use_cache=True))
            out.append(case_of(model, "infer", precision, 8, 512, "sdpa", use_cache=True))
        for model in ("bert-base-cased", "gpt2", "llama-3.2-1b"):
            out.append(case_of(model, "infer", precision, 8, 512, "sdpa", head="bare"))
    for model in ("bert-base-cased", "gpt2", "llama-mha"):
        for optimizer in ("adam-single", "adamw-foreach", "sgd-momentum"):
            out.append(case_of(model, "train", "float32", 2, 96, "sdpa", optimizer))
    return out


def generate_cases():
    """Decoding over each kind of cache; 16 new tokens, which is what suites/pytorch.yaml asks of a GPU."""
    out = []
    for precision in ("float32", "bfloat16"):
        for model in ("tiny/gpt2", "tiny/llama", "tiny/llama-gqa", "tiny/qwen2"):
            for attention in ("sdpa", "eager"):
                for cache in ("dynamic", "static"):
                    out.append(case_of(model, "generate", precision, 2, 8, attention, new_tokens=4, cache=cache))
            out.append(case_of(model, "generate", precision, 2, 8, "sdpa", new_tokens=4, beams=3))
        for model in ("gpt2", "llama-3.2-1b", "qwen2.5-0.5b"):
            for batch, seq in ((1, 512), (4, 900)):
                out.append(case_of(model, "generate", precision, batch, seq, "sdpa", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "eager", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, cache="static"))
            out.append(case_of(model, "generate", precision, 4, 512, "eager", new_tokens=16, cache="static"))
            out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, logits="all"))
            out.append(case_of(model, "generate", precision, 1, 512, "sdpa", new_tokens=16, beams=4))
            out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, beams=4))
            out.append(case_of(model, "generate", precision, 2, 512, "sdpa", new_tokens=16, beams=4, cache="static"))
    for model in ("gpt2", "llama-3.2-1b", "qwen2.5-0.5b"):
        out.append(case_of(model, "generate", "amp-bfloat16", 4, 512, "sdpa", new_tokens=16))
    return out


QUANTIZED_CACHE_MODELS = ("tiny-bloom", "tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-falcon", "tiny-falcon-alibi",
                          "tiny-falcon-grouped", "tiny-gpt-neox", "tiny-opt", "tiny-qwen3")


def quantized_cache_cases():
    """Caches in 8, 4 and 2 bits: below the residual length of 128 tokens, beyond it twice, and beyond it in the prompt."""
    out = []
    for dtype in ("fp8", "int4", "int2"):
        for precision in ("float32", "bfloat16"):
            for model in ("tiny/gpt2", "tiny/llama", "tiny/llama-gqa", "tiny/qwen2"):
                for attention in ("sdpa", "eager"):
                    out.append(case_of(model, "generate", precision, 2, 8, attention, new_tokens=4, cache_dtype=dtype))
            out.append(case_of("tiny/llama-gqa", "generate", precision, 1, 8, "eager", new_tokens=260,
                               cache_dtype=dtype))
            for model in ("gpt2", "llama-3.2-1b", "qwen2.5-0.5b"):
                out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, cache_dtype=dtype))
                out.append(case_of(model, "generate", precision, 1, 900, "eager", new_tokens=4, cache_dtype=dtype))
            out.append(case_of("gpt2", "generate", precision, 1, 200, "sdpa", new_tokens=131, cache_dtype=dtype))
    for model in ("tiny/gpt2", "tiny/llama-gqa", "tiny/qwen2"):
        for precision in ("float32", "bfloat16"):
            for dtype in ("fp8", "int4", "int2"):
                out.append(case_of(model, "generate", precision, 2, 8, "sdpa", new_tokens=4, beams=3,
                                   cache_dtype=dtype))
    for dtype in ("fp8", "int4"):
        for model in QUANTIZED_CACHE_MODELS:
            out.append(case_of(model, "generate", "bfloat16", 2, 16, "eager", new_tokens=4, cache_dtype=dtype))
        out.append(case_of("tiny/llama-gqa", "generate", "float32", 1, 8, "eager", new_tokens=140, beams=2,
                           cache_dtype=dtype))
        out.append(case_of("gpt2", "generate", "bfloat16", 2, 512, "sdpa", new_tokens=8, beams=4, cache_dtype=dtype))
    return out


def adapter_cases():
    """Adapters of LoRA on frozen models, and 8-bit Adam: what needs peft and bitsandbytes besides."""
    out = []
    for model in ("bert-base-cased", "gpt2", "llama-mha", "llama-3.2-1b", "qwen2.5-0.5b"):
        for precision in ("float32", "bfloat16", "amp-bfloat16"):
            optimizer = optimizer_for(precision)
            for targets in ("attention", "linear"):
                for attention in ("sdpa", "eager"):
                    out.append(case_of(model, "train", precision, 2, 96, attention, optimizer, lora_rank=8,
                                       lora_targets=targets))
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer, checkpointing=True, lora_rank=8,
                               lora_targets="attention"))
    for model in ("bert-base-cased", "gpt2", "qwen2.5-0.5b"):
        for precision in ("float32", "bfloat16"):
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", "adam-8bit"))
        out.append(case_of(model, "train", "bfloat16", 2, 96, "sdpa", "adam-8bit", lora_rank=8, lora_targets="linear"))
    return out


def adapter_dropout_cases():
    """Adapters with LoraConfig's lora_dropout, as PEFT's scripts have it; event by event for tiny models."""
    out = []
    for model in ("bert-base-cased", "gpt2", "llama-mha", "llama-3.2-1b"):
        for precision in ("float32", "bfloat16", "amp-bfloat16"):
            for targets, checkpointing in (("attention", False), ("attention", True), ("linear", False)):
                out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer_for(precision), lora_rank=8,
                                   lora_targets=targets, lora_dropout=0.1, checkpointing=checkpointing))
    for model in ("tiny/bert", "tiny/gpt2", "tiny/llama-gqa"):
        for precision in ("float32", "bfloat16", "amp-bfloat16"):
            for checkpointing in (False, True):
                out.append(case_of(model, "train", precision, 2, 8, "eager", "adamw-fused", lora_rank=8,
                                   lora_targets="linear", lora_dropout=0.05, checkpointing=checkpointing, events=True))
    for precision in ("int8", "int4"):
        for model in ("gpt2", "llama-3.2-1b"):
            out.append(case_of(model, "train", precision, 4, 512, "sdpa", "adamw-fused", lora_rank=8,
                               lora_targets="linear", lora_dropout=0.05, checkpointing=True, prepare_kbit=True))
    return out


def quantized_cases():
    """Weights in 8 and 4 bits by bitsandbytes, and adapters on them (QLoRA)."""
    out = []
    for precision in ("int8", "int4"):
        for model in ("bert-base-cased", "gpt2", "llama-2-7b", "llama-3.2-1b", "qwen2.5-0.5b"):
            for batch, seq in ((1, 1), (2, 96), (4, 512)):
                out.append(case_of(model, "infer", precision, batch, seq, "sdpa"))
            adapted = {"lora_rank": 8, "lora_targets": "linear"}
            for attention in ("sdpa", "eager"):
                out.append(case_of(model, "train", precision, 4, 512, attention, "adamw-fused", **adapted))
            out.append(case_of(model, "train", precision, 4, 512, "sdpa", "adamw-fused", lora_rank=8,
                               lora_targets="attention"))
            for more in ({"checkpointing": True}, {"prepare_kbit": True}, {"checkpointing": True, "prepare_kbit": True}):
                out.append(case_of(model, "train", precision, 4, 512, "sdpa", "adamw-fused", **adapted, **more))
        out.append(case_of("llama-2-7b", "train", precision, 4, 512, "sdpa", "adamw-fused", **adapted,
                           checkpointing=True, prepare_kbit=True, reentrant=True))
        for model in ("tiny/gpt2", "tiny/llama-gqa"):
            for more in ({}, {"checkpointing": True}, {"prepare_kbit": True}):
                out.append(case_of(model, "train", precision, 8, 8, "eager", "adamw-fused", **adapted, **more,
                                   events=True))
    for mode, more in (("infer", {}), ("train", {"optimizer": "adamw-fused", "lora_rank": 8, "lora_targets": "linear"})):
        out.append(case_of("llama-2-7b", mode, "int8", 4, 512, **more, llm_int8_threshold=6))
    return out


def double_quant_cases():
    """The same in 4 bits with double quantisation, as QLoRA has it."""
    out = []
    twice = {"double_quant": True}
    for model in ("bert-base-cased", "gpt2", "llama-2-7b", "llama-3.2-1b", "qwen2.5-0.5b"):
        for batch, seq in ((1, 1), (2, 96), (4, 512)):
            out.append(case_of(model, "infer", "int4", batch, seq, "sdpa", **twice))
        adapted = {"lora_rank": 8, "lora_targets": "linear", **twice}
        for more in ({}, {"checkpointing": True}, {"prepare_kbit": True}, {"checkpointing": True, "prepare_kbit": True}):
            out.append(case_of(model, "train", "int4", 4, 512, "sdpa", "adamw-fused", **adapted, **more))
    for model in ("tiny/gpt2", "tiny/llama-gqa"):
        for more in ({}, {"checkpointing": True}, {"prepare_kbit": True}):
            out.append(case_of(model, "train", "int4", 8, 8, "eager", "adamw-fused", **adapted, **more, events=True))
    return out


def fused_loss_cases():
    """Training with Liger-Kernel's cross entropy, which needs liger-kernel besides."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for model in ("tiny/bert-dropout", "tiny/gpt2-dropout", "tiny/llama", "tiny/llama-gqa", "tiny/qwen2"):
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, loss="fused",
                               events=precision != "amp-bfloat16" and "bert" not in model))
        for model in TEXT:
            for batch, seq in ((2, 96), (8, 512)):
                out.append(case_of(model, "train", precision, batch, seq, "sdpa", optimizer, loss="fused"))
        for model in ("vit-base", "resnet18", "resnet50"):
            out.append(case_of(model, "train", precision, 8, None, "sdpa", optimizer, loss="fused"))
        for model in ("bert-base-cased", "gpt2", "llama-3.2-1b"):
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer, padding=True, loss="fused"))
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer, checkpointing=True, loss="fused"))
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer, accumulate=2, loss="fused"))
    out.append(case_of("tiny/gpt2-dropout", "train", "float32", 2, 8, "eager", "adam-foreach", padding=True,
                       loss="fused", events=True))
    return out


DECODERS = {"tiny-gemma": None, "tiny-gemma2": ("eager",), "tiny-gemma3": None, "tiny-gpt-neox": None, "tiny-phi3": None,
            "tiny-qwen3": None}  # and the forms of attention that transformers has, None: both


EXPERTS = ("tiny-mixtral", "tiny-qwen2-moe", "tiny-qwen3-moe"), ("mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen1.5-MoE-A2.7B", "Qwen/Qwen3-30B-A3B")
LATENT = ("tiny-deepseek-v2", "tiny-deepseek-v3"), ("deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V3")


def expert_cases(tiny, models):
    """Mixtures of experts of the catalogue. Which expert a token uses is not known on meta, and no size depends on it."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for model in tiny:
            for attention in ("sdpa", "eager"):
                out.append(case_of(model, "train", precision, 2, 8, attention, optimizer, events=attention == "eager" and
                                   precision != "amp-bfloat16"))
                out.append(case_of(model, "infer", precision, 2, 8, attention, events=attention == "eager" and
                                   precision == "float32"))
            out.append(case_of(model, "infer", precision, 2, 8, "sdpa", head="bare"))
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, padding=True))
            out.append(case_of(model, "train", precision, 2, 8, "sdpa", optimizer, checkpointing=True))
        for model in models:
            out.append(case_of(model, "train", precision, 2, 96, "sdpa", optimizer))
            out.append(case_of(model, "infer", precision, 4, 512, "sdpa"))
            out.append(case_of(model, "train", precision, 2, 96, "eager", optimizer, checkpointing=True))
    return out


def latent_cases():
    """DeepSeek-V2 and V3: values narrower than keys, experts by groups."""
    return [case for case in expert_cases(*LATENT)  # see family_cases
            if (case["mode"], case["precision"], case["attention"]) != ("train", "float32", "sdpa") or "/" in case["model"]]


def expert_generate_cases():
    """Experts are copied for each row while generate() decodes without beams; DeepSeek's caches are latent."""
    out = []
    for precision in ("float32", "bfloat16"):
        for model in EXPERTS[0]:
            for cache in ("dynamic", "static"):
                out.append(case_of(model, "generate", precision, 2, 8, "eager", new_tokens=4, cache=cache))
        for model in LATENT[0]:
            for attention in ("sdpa", "eager"):
                for cache in ("dynamic", "static"):
                    out.append(case_of(model, "generate", precision, 2, 8, attention, new_tokens=4, cache=cache))
            out.append(case_of(model, "generate", precision, 2, 8, "eager", new_tokens=4, beams=3))
        for model in (*EXPERTS[1][1:], LATENT[1][0]):
            out.append(case_of(model, "generate", precision, 1, 512, "sdpa", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "eager", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, cache="static"))
            out.append(case_of(model, "generate", precision, 2, 512, "sdpa", new_tokens=16, beams=4))
    return out


def decoder_cases():
    """Qwen3, Phi-3, Gemma and GPT-NeoX of the catalogue; windows are 6 tokens in the tiny ones."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for model, forms in DECODERS.items():
            for attention in forms or ("sdpa", "eager"):
                for seq in (5, 8):
                    out.append(case_of(model, "infer", precision, 2, seq, attention))
            for seq in (5, 8):  # in the eager form: of the others the kernels' scratch is most of a tiny model's peak
                listed = seq == 8 and precision != "amp-bfloat16" and ("gemma" in model or "qwen3" in model)
                out.append(case_of(model, "train", precision, 2, seq, "eager", optimizer, events=listed))
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, padding=True))
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, checkpointing=True))
            out.append(case_of(model, "infer", precision, 2, 8, "eager", padding=True))
            out.append(case_of(model, "infer", precision, 2, 8, (forms or ("sdpa",))[0], head="bare"))
    for precision in ("float32", "bfloat16"):
        optimizer = optimizer_for(precision)
        for model, seq in (("Qwen/Qwen3-0.6B", 512), ("google/gemma-3-1b-pt", 600), ("google/gemma-2b", 512),
                           ("EleutherAI/pythia-410m", 512), ("microsoft/Phi-3-mini-4k-instruct", 512),
                           ("microsoft/Phi-3-mini-4k-instruct", 2100), ("google/gemma-2-2b", 300)):
            attention = "eager" if "gemma-2-" in model else "sdpa"
            out.append(case_of(model, "train", precision, 2, seq, attention, optimizer))
            out.append(case_of(model, "infer", precision, 2, seq, attention))
        out.append(case_of("Qwen/Qwen3-0.6B", "train", precision, 2, 96, "sdpa", optimizer, padding=True))
        out.append(case_of("google/gemma-3-1b-pt", "train", precision, 2, 600, "sdpa", optimizer, checkpointing=True))
        out.append(case_of("mistralai/Mistral-7B-v0.1", "infer", precision, 1, 4200, "sdpa"))
        out.append(case_of("mistralai/Mistral-7B-v0.1", "train", precision, 1, 4200, "eager", optimizer))
    return out


def decoder_generate_cases():
    """Their caches: windows that are reached in the prompt, while decoding and not at all."""
    out = []
    for precision in ("float32", "bfloat16"):
        for model in DECODERS:  # our own kernel's log-sum-exp is more than a tiny model's cache: sdpa where that is math
            shared = model in ("tiny-gemma", "tiny-qwen3")
            for attention in ("sdpa", "eager") if shared else ("eager",):
                for seq, new_tokens in ((2, 3), (3, 8), (8, 6)):
                    out.append(case_of(model, "generate", precision, 2, seq, attention, new_tokens=new_tokens))
            if shared:
                out.append(case_of(model, "generate", precision, 2, 8, "sdpa", new_tokens=4, cache="static"))
                out.append(case_of(model, "generate", precision, 2, 8, "sdpa", new_tokens=4, beams=3))
        for model, seq in (("Qwen/Qwen3-0.6B", 512), ("google/gemma-3-1b-pt", 505), ("google/gemma-3-1b-pt", 600),
                           ("EleutherAI/pythia-410m", 512), ("microsoft/Phi-3-mini-4k-instruct", 2100),
                           ("mistralai/Mistral-7B-v0.1", 4090)):
            out.append(case_of(model, "generate", precision, 1, seq, "sdpa", new_tokens=16))
    return out


def family_cases(tiny, models):
    """The same questions to further families: tiny models and real ones, padded, checkpointed, bare."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for attention in ("sdpa", "eager"):
            for model in tiny:
                for padding in (False, True):
                    # Of so small a peak the scratch of float32's fused backward, which meta does not see, is a tenth.
                    if (precision, attention) != ("float32", "sdpa"):
                        out.append(case_of(model, "train", precision, 2, 8, attention, optimizer, padding=padding))
                    out.append(case_of(model, "infer", precision, 2, 8, attention, padding=padding))
            for model in models:
                out.append(case_of(model, "train", precision, 2, 96, attention, optimizer))
                out.append(case_of(model, "train", precision, 2, 96, attention, optimizer, padding=True))
                out.append(case_of(model, "infer", precision, 8, 512, attention))
        for model in models:
            one = "eager" if "bloom" in model else "sdpa"
            out.append(case_of(model, "train", precision, 8, 512, one, optimizer))
            out.append(case_of(model, "train", precision, 2, 96, one, optimizer, checkpointing=True))
            out.append(case_of(model, "train", precision, 2, 96, one, optimizer, accumulate=2))
            out.append(case_of(model, "infer", precision, 2, 96, one, head="bare"))
    return out


def encoder_cases():
    return family_cases(("tiny-roberta", "tiny-distilbert"),
                        ("FacebookAI/roberta-base", "FacebookAI/xlm-roberta-base", "distilbert-base-uncased"))


def learned_position_cases():
    """What learned positions behind an offset and biases by distance take: OPT and BLOOM."""
    tiny = ("tiny-opt", "tiny-opt-projected", "tiny-bloom")
    real = ("facebook/opt-125m", "facebook/opt-350m", "bigscience/bloom-560m")
    out = family_cases(tiny, real)
    for precision in ("float32", "bfloat16"):
        for model in tiny:
            for attention in ("sdpa", "eager"):
                for cache in ("dynamic", "static"):
                    out.append(case_of(model, "generate", precision, 2, 8, attention, new_tokens=4, cache=cache))
            out.append(case_of(model, "generate", precision, 2, 8, "sdpa", new_tokens=4, beams=3))
        for model in real:
            out.append(case_of(model, "generate", precision, 4, 900, "sdpa", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "eager", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "sdpa", new_tokens=16, cache="static"))
            out.append(case_of(model, "generate", precision, 2, 512, "sdpa", new_tokens=16, beams=4))
    return out


def encoder_decoder_cases():
    """T5 and its gated kin. Half of a tiny head is computed in math's form, whose dropout meta makes otherwise than CUDA."""
    tiny, real, gated = "tiny-t5", "google-t5/t5-small", "google/flan-t5-small"
    out = [case for case in family_cases((tiny,), (real,))
           if not (case["model"] == tiny and case["mode"] == "train" and case["attention"] == "sdpa")]
    for attention in ("sdpa", "eager"):
        out.append(case_of(real, "train", "float16", 2, 96, attention, "adamw-fused", padding=attention == "sdpa"))
        out.append(case_of(real, "infer", "float16", 2, 96, attention))
        out.append(case_of(gated, "train", "float32", 1, 100, attention, "adam-foreach"))
        out.append(case_of(gated, "train", "bfloat16", 1, 77, attention, "adamw-fused", checkpointing=True))
    for precision in ("float32", "bfloat16", "int8", "int4"):
        targets = {"lora_targets": "linear", "checkpointing": True} if precision == "int8" else {"lora_targets": "attention"}
        out.append(case_of(real, "train", precision, 2, 96, "sdpa", "adamw-fused", lora_rank=8, **targets))
        if precision.startswith("int"):
            out.append(case_of(real, "infer", precision, 2, 96, "sdpa"))
    for precision in ("float32", "bfloat16"):  # of the tiny one the real class has a cache with too few layers
        for model in (real, gated):
            for attention in ("sdpa", "eager"):
                out.append(case_of(model, "generate", precision, 4, 100, attention, new_tokens=8))
    out.append(case_of(tiny, "train", "float32", 2, 8, "sdpa", "adam-foreach", events=True))
    return out


def falcon_cases():
    """Its three kinds: a single key head that is broadcast, groups that are repeated before they are cached, ALiBi."""
    tiny = ("tiny-falcon", "tiny-falcon-grouped", "tiny-falcon-alibi")
    out = family_cases(tiny, ("tiiuae/falcon-7b", "tiiuae/falcon-rw-1b"))
    out.append(case_of("tiny-falcon", "train", "float32", 2, 8, "sdpa", "adam-foreach"))  # the math form
    for case in out:
        listed = case["seq"] == 8 and case["mode"] == "train" and not case["precision"].startswith("amp")
        case["events"] = listed and (case["attention"] == "eager" or case["model"] == "tiny-falcon")
    for precision in ("float32", "bfloat16"):
        for model in tiny:
            for attention in ("sdpa", "eager"):
                for cache in ("dynamic", "static"):  # the class cannot make its biases of a static cache's mask
                    if cache == "dynamic" or "alibi" not in model:
                        out.append(case_of(model, "generate", precision, 2, 8, attention, new_tokens=4, cache=cache))
            out.append(case_of(model, "generate", precision, 2, 8, "eager", new_tokens=4, beams=3))
        for model in ("tiiuae/falcon-7b", "tiiuae/falcon-rw-1b"):
            if (precision, model) != ("float32", "tiiuae/falcon-rw-1b"):  # our kernel's log-sum-exp is in its peak
                out.append(case_of(model, "generate", precision, 4, 900, "sdpa", new_tokens=16))
            out.append(case_of(model, "generate", precision, 4, 512, "eager", new_tokens=16))
            out.append(case_of(model, "generate", precision, 2, 512, "sdpa", new_tokens=16, beams=4))
        out.append(case_of("tiiuae/falcon-7b", "generate", precision, 4, 512, "sdpa", new_tokens=16, cache="static"))
        out.append(case_of("tiiuae/falcon-40b", "generate", precision, 1, 512, "sdpa", new_tokens=16))
        out.append(case_of("tiiuae/falcon-40b", "infer", precision, 1, 512, "sdpa"))
        out.append(case_of("tiiuae/falcon-40b", "train", precision, 1, 512, "sdpa", optimizer_for(precision),
                           checkpointing=True))
    return out


def gpt_neo_cases():
    """Its class has the eager form alone, in float32; the real model's window is shorter than 512 tokens."""
    tiny, real = "tiny-gpt-neo", "EleutherAI/gpt-neo-125m"
    out = [case for case in family_cases((tiny,), (real,)) if case["attention"] == "eager"]
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        out.append(case_of(tiny, "train", precision, 2, 8, "eager", optimizer, checkpointing=True))
        out.append(case_of(real, "train", precision, 8, 512, "eager", optimizer))
        out.append(case_of(real, "train", precision, 2, 96, "eager", optimizer, checkpointing=True))
        out.append(case_of(real, "infer", precision, 8, 512, "eager", logits="last"))
        out.append(case_of(real, "infer", precision, 2, 96, "eager", head="bare"))
    for case in out:
        case["events"] = case["model"] == tiny and case["mode"] == "infer" and not case.get("padding")
    for precision in ("float32", "bfloat16"):
        for cache in ("dynamic", "static"):
            out.append(case_of(tiny, "generate", precision, 2, 8, "eager", new_tokens=4, cache=cache))
        out.append(case_of(tiny, "generate", precision, 2, 8, "eager", new_tokens=4, beams=3))
        out.append(case_of(real, "generate", precision, 4, 900, "eager", new_tokens=16))
        out.append(case_of(real, "generate", precision, 4, 512, "eager", new_tokens=16, cache="static"))
        out.append(case_of(real, "generate", precision, 2, 512, "eager", new_tokens=16, beams=4))
    return out


def timm_vit_cases():
    """Vision transformers of timm: one projection for queries, keys and values."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for attention in ("sdpa", "eager"):
            for model, batch in (("tiny-timm-vit", 2), ("timm/deit_tiny_patch16_224.fb_in1k", 8),
                                 ("timm/vit_base_patch16_224.augreg2_in21k_ft_in1k", 1)):
                tiny = model == "tiny-timm-vit"
                if not tiny or (precision, attention) != ("float32", "sdpa"):  # scratch of float32's fused backward
                    out.append(case_of(model, "train", precision, batch, None, attention, optimizer))
                out.append(case_of(model, "infer", precision, batch, None, attention, events=tiny and attention == "sdpa"))
        deit = "timm/deit_small_patch16_224.fb_in1k"
        out.append(case_of(deit, "train", precision, 8, None, "sdpa", "sgd-momentum"))
        if precision != "amp-bfloat16":  # timm's own checkpoint() does not know how the shadow casts
            out.append(case_of(deit, "train", precision, 8, None, "sdpa", optimizer, checkpointing=True))
    return out


def regnet_cases():
    """RegNets of timm: grouped convolutions, squeeze-and-excitation, the last ReLU of a block not in place."""
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        for model, batch in (("tiny-regnet", 2), ("timm/regnety_004.tv2_in1k", 8), ("timm/regnetx_004.pycls_in1k", 8),
                             ("timm/regnety_032.tv2_in1k", 1)):
            tiny = model == "tiny-regnet"
            out.append(case_of(model, "train", precision, batch, None, "sdpa", optimizer, events=tiny))
            out.append(case_of(model, "infer", precision, batch, None, "sdpa", events=tiny))
        out.append(case_of("timm/regnety_016.tv2_in1k", "train", precision, 4, None, "sdpa", "sgd-momentum"))
        if precision != "amp-bfloat16":  # timm's own checkpoint() does not know how the shadow casts
            for model in ("timm/regnety_004.tv2_in1k", "timm/regnetx_016.tv2_in1k"):
                out.append(case_of(model, "train", precision, 8, None, "sdpa", optimizer, checkpointing=True))
    return out


def has_form(case):
    """BLOOM's class has the eager form alone."""
    return "bloom" not in case["model"] or case["attention"] == "eager"


def cases():
    return (tiny_cases() + layer_pairs() + full_cases() + generate_cases() + quantized_cache_cases() +
            adapter_cases() + adapter_dropout_cases() + quantized_cases() + double_quant_cases() + fused_loss_cases() +
            decoder_cases() + decoder_generate_cases() +
            encoder_cases() + list(filter(has_form, learned_position_cases())) + expert_cases(*EXPERTS) +
            latent_cases() + expert_generate_cases() + encoder_decoder_cases() + falcon_cases() +
            gpt_neo_cases() + timm_vit_cases() + regnet_cases() + step_cases(case_of) +
            forward_cases(case_of, optimizer_for) + autocast_cases(case_of) + head_cases(case_of, optimizer_for))
