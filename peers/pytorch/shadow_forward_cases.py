"""Cases of what a plain pass returns and how long its program keeps it: use_cache, and `outputs` with a name."""
DECODERS = ("tiny/gpt2-dropout", "tiny/llama", "tiny/llama-gqa", "tiny-gemma", "tiny-gemma2", "tiny-gemma3", "tiny-gpt-neox",
            "tiny-phi3", "tiny-qwen3", "tiny-mistral", "tiny-mixtral", "tiny-qwen2-moe", "tiny-deepseek-v2",
            "tiny-deepseek-v3", "tiny-falcon", "tiny-falcon-grouped", "tiny-falcon-alibi", "tiny-bloom", "tiny-opt",
            "tiny-opt-projected", "tiny-gpt-neo", "tiny-t5")


def forward_cases(case_of, optimizer_for):
    out = []
    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        optimizer = optimizer_for(precision)
        listed = precision != "amp-bfloat16"
        for model in DECODERS:
            forms = dict(use_cache=True), dict(outputs="kept"), dict(use_cache=True, outputs="kept")
            for more in forms:
                events = listed and "outputs" in more and "use_cache" in more
                out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, events=events, **more))
                out.append(case_of(model, "infer", precision, 2, 8, "eager", events=events, **more))
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, checkpointing=True, **forms[2]))
            out.append(case_of(model, "train", precision, 2, 8, "eager", optimizer, padding=True, **forms[2]))
            out.append(case_of(model, "infer", precision, 2, 8, "eager", padding=True, **forms[2]))
            out.append(case_of(model, "infer", precision, 2, 8, "eager", head="bare", **forms[2]))
        for model in ("tiny/bert-dropout", "tiny/vit", "tiny-vgg", "tiny-resnet", "tiny-convnext", "tiny-regnet"):
            seq, attention = (8, "eager") if "bert" in model else (None, "eager" if "convnext" in model else "sdpa")
            out.append(case_of(model, "train", precision, 2, seq, attention, optimizer, outputs="kept", events=listed))
            out.append(case_of(model, "infer", precision, 2, seq, attention, outputs="kept", events=listed))
        for model in ("distilgpt2", "llama-3.2-1b", "google/gemma-3-1b-pt", "google-t5/t5-small", "facebook/opt-125m"):
            for more in forms:
                out.append(case_of(model, "train", precision, 8, 512, "sdpa", optimizer, **more))
                out.append(case_of(model, "infer", precision, 8, 512, "sdpa", **more))
            out.append(case_of(model, "train", precision, 8, 512, "sdpa", optimizer, checkpointing=True, **forms[2]))
        out.append(case_of("llama-2-7b", "infer", precision, 64, 256, "sdpa", use_cache=True))
        out.append(case_of("mistralai/Mistral-7B-v0.1", "infer", precision, 1, 4200, "sdpa", use_cache=True))
        for model in ("bert-base-cased", "vit-base", "resnet50"):
            seq = 512 if "bert" in model else None
            out.append(case_of(model, "train", precision, 8, seq, "sdpa", optimizer, outputs="kept"))
            out.append(case_of(model, "infer", precision, 8, seq, "sdpa", outputs="kept"))
        for model in ("bert-base-cased", "vit-base"):
            out.append(case_of(model, "infer", precision, 8, 512 if "bert" in model else None, "sdpa", head="bare",
                               outputs="kept"))
    return out + converted_cases(case_of)


def converted_cases(case_of):
    """Models that accelerate has wrapped: their outputs are copied to float32."""
    out = []
    for precision in ("amp-bfloat16", "amp-float16"):
        for outputs in ({}, {"outputs": "kept"}):
            for model, seq in (("tiny-gemma3", 8), ("tiny-t5", 8), ("distilgpt2", 512), ("llama-3.2-1b", 512),
                               ("bert-base-cased", 512), ("vit-base", None), ("resnet18", None), ("tiny-regnet", None)):
                attention = "eager" if "tiny-g" in model or "t5" in model else "sdpa"
                for mode in ("train", "infer") if precision == "amp-bfloat16" else ("infer",):  # without a scaler
                    cache = {"use_cache": True} if mode == "infer" and "gemma" in model else {}
                    out.append(case_of(model, mode, precision, 2, seq, attention,
                                       "adamw-fused" if mode == "train" else None, **cache, float32_outputs=True, **outputs))
    return out
