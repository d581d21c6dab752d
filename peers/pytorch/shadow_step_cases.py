"""Cases of the shadow that say what a training program does around its passes: zero_grad(), clipping, optimizers."""

DECODERS = ("tiny/gpt2-dropout", "tiny/llama-gqa")
TINY = DECODERS + ("tiny/bert-dropout", "tiny-vgg")
REAL = ("bert-base-cased", "gpt2", "llama-3.2-1b", "resnet50")


def sizes_of(model):
    """(batch, seq, attention)"""
    if model == "resnet50":
        return 8, None, "sdpa"
    if model == "tiny-vgg":
        return 2, None, "sdpa"
    return (2, 8, "eager") if model.startswith("tiny/") else (2, 96, "sdpa")


def zero_grad_cases(case_of):
    out = []
    for habit in ({"zero_grad": "before-forward"}, {"zero_grad": "before-backward"},
                  {"zero_grad": "after-step", "zero_grad_to": "zeros"},
                  {"zero_grad": "before-backward", "zero_grad_to": "zeros"}):
        for model in TINY + REAL:
            batch, seq, attention = sizes_of(model)
            for precision, optimizer in (("float32", "adamw-foreach"), ("amp-bfloat16", "adamw-fused")):
                out.append(case_of(model, "train", precision, batch, seq, attention, optimizer, **habit,
                                   events=model in DECODERS and precision == "float32"))
    return out


def clip_cases(case_of):
    """Clipping in both forms; SGD without state."""
    out = []
    for form in ("foreach", "single"):
        for model in TINY + REAL:
            batch, seq, attention = sizes_of(model)
            for precision, optimizer in (("float32", "adamw-foreach"), ("bfloat16", "adamw-fused")):
                out.append(case_of(model, "train", precision, batch, seq, attention, optimizer, clip_grad=form,
                                   events=model in DECODERS))
    for model in TINY + REAL:
        batch, seq, attention = sizes_of(model)
        for precision in ("float32", "bfloat16"):
            out.append(case_of(model, "train", precision, batch, seq, attention, "sgd", events=model in DECODERS))
        out.append(case_of(model, "train", "float32", batch, seq, attention, "sgd", clip_grad="foreach"))
    return out


def adafactor_cases(case_of):
    out = []
    for optimizer in ("adafactor-torch", "adafactor-transformers"):
        for model in TINY + REAL:
            batch, seq, attention = sizes_of(model)
            for precision in ("float32", "bfloat16"):
                out.append(case_of(model, "train", precision, batch, seq, attention, optimizer,
                                   events=model in DECODERS))
    return out


def hook_cases(case_of):
    out = []
    for model in TINY + ("gpt2", "bert-base-cased"):
        batch, seq, attention = sizes_of(model)
        for precision, optimizer in (("float32", "adamw-foreach"), ("bfloat16", "adamw-fused"), ("float32", "sgd")):
            out.append(case_of(model, "train", precision, batch, seq, attention, optimizer, optimizer_in_backward=True,
                               events=model in DECODERS))
    return out


def scaler_cases(case_of):
    """torch.amp.GradScaler around optimizers that unscale by themselves (fused) and others, clipped and not; losses that are
    divided by the number of accumulated batches."""
    out = []
    for model in TINY + ("gpt2", "bert-base-cased", "resnet50"):
        batch, seq, attention = sizes_of(model)
        events = model in DECODERS
        for optimizer in ("adamw-fused", "adamw-foreach", "sgd"):
            for clip in ({}, {"clip_grad": "foreach"}):
                out.append(case_of(model, "train", "amp-float16", batch, seq, attention, optimizer, grad_scaler="torch",
                                   **clip, events=events))
        out.append(case_of(model, "train", "amp-float16", batch, seq, attention, "adamw-fused", grad_scaler="none",
                           events=events))
        for parts in ("divided", "whole"):
            out.append(case_of(model, "train", "float32", batch, seq, attention, "adamw-foreach", accumulate=2,
                               accumulated_loss=parts, events=events))
        out.append(case_of(model, "train", "amp-float16", batch, seq, attention, "adamw-fused", accumulate=2,
                           accumulated_loss="divided", grad_scaler="torch", events=events))
    return out


def smoothing_cases(case_of):
    """torch's argument, and the Trainer's LabelSmoother."""
    out = []
    for form in ("cross-entropy", "trainer"):
        for model in TINY[:3] + REAL[:3] + ("vit-base",):
            for precision in ("float32", "bfloat16", "amp-bfloat16")[:3 if form == "trainer" else 2]:
                batch, seq, attention = (8, None, "sdpa") if model == "vit-base" else sizes_of(model)
                more = {"float32_outputs": True} if precision == "amp-bfloat16" and form == "trainer" else {}
                out.append(case_of(model, "train", precision, batch, seq, attention, "adamw-fused",
                                   label_smoothing=form, **more, events=model in DECODERS))
    return out


def average_cases(case_of):
    """An exponential average of the weights, by torch's class and by timm's, of weights in 16 bits too."""
    out = []
    for kind in ("averaged-model", "timm-ema", "timm-ema-v2"):
        for model in TINY + ("gpt2", "resnet50"):
            batch, seq, attention = sizes_of(model)
            for precision, optimizer in (("float32", "adamw-fused"), ("bfloat16", "sgd"), ("amp-bfloat16", "adamw-fused")):
                out.append(case_of(model, "train", precision, batch, seq, attention, optimizer, weight_average=kind,
                                   events=model in DECODERS and precision != "amp-bfloat16"))
    return out


def bitsandbytes_cases(case_of):
    """Optimizers of bitsandbytes: states in managed memory, states of embeddings in float32."""
    out = []
    for model in TINY + ("tiny/gpt2-wide", "gpt2", "bert-base-cased", "llama-3.2-1b", "resnet50"):
        batch, seq, attention = sizes_of(model)
        events = model in DECODERS + ("tiny/gpt2-wide",)
        for optimizer in ("paged-adamw-8bit", "paged-adamw-32bit"):
            for precision in ("float32", "bfloat16"):
                out.append(case_of(model, "train", precision, batch, seq, attention, optimizer, events=events))
        for optimizer in ("paged-adamw-8bit", "adam-8bit") if model not in TINY else ():
            out.append(case_of(model, "train", "bfloat16", batch, seq, attention, optimizer,
                               embedding_states="float32", events=events))
    for rank in (8, 64):  # most factors of rank 8 are too small to be paged
        out.append(case_of("llama-3.2-1b", "train", "bfloat16", 2, 96, "sdpa", "paged-adamw-8bit", lora_rank=rank,
                           lora_targets="linear"))
    return out


def step_cases(case_of):
    return (bitsandbytes_cases(case_of) + average_cases(case_of) + smoothing_cases(case_of) + scaler_cases(case_of) + hook_cases(case_of) +
            adafactor_cases(case_of) + zero_grad_cases(case_of) + clip_cases(case_of))
