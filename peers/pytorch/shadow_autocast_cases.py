"""Cases of the shadow: weights of 16 bits and quantised ones under autocast, and adapters on whole attention blocks."""


def autocast_cases(case_of):
    """Weights of 16 bits and quantised ones under autocast, as the Trainer trains adapters with bf16=True; and adapters on
    all projections of the attention blocks."""
    out = []
    for model in ("bert-base-cased", "gpt2", "llama-mha", "llama-3.2-1b", "qwen2.5-0.5b"):
        for precision in ("bfloat16", "float16"):
            out.append(case_of(model, "infer", precision, 2, 96, "sdpa", autocast=True))
        for attention in ("sdpa", "eager"):
            out.append(case_of(model, "train", "bfloat16", 2, 96, attention, "adamw-fused", autocast=True))
        adapted = {"lora_rank": 8, "lora_targets": "projections"}
        out.append(case_of(model, "train", "bfloat16", 2, 96, "sdpa", "adamw-fused", **adapted))
        for precision in ("bfloat16", "int8", "int4"):
            for more in ({}, {"checkpointing": True}):
                out.append(case_of(model, "train", precision, 2, 96, "sdpa", "adamw-fused", **adapted, **more,
                                   autocast=True))
        for precision in ("int8", "int4"):
            for more in ({}, {"checkpointing": True}):
                out.append(case_of(model, "train", precision, 2, 96, "sdpa", "adamw-fused", **adapted, **more,
                                   prepare_kbit=True, autocast=True))
    for model, precision in (("tiny/gpt2", "bfloat16"), ("tiny/llama-gqa", "bfloat16"), ("tiny/gpt2", "int4")):
        out.append(case_of(model, "train", precision, 8, 8, "eager", "adamw-fused", lora_rank=8,
                           lora_targets="projections", autocast=True, events=True))
    return out
