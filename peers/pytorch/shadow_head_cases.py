"""Cases of models with a head of a task, without one, and of the mean over a sequence."""
SEQUENCE, TOKEN, QUESTION = "sequence", "token", "question"
ALL = (SEQUENCE, TOKEN, QUESTION)

# model, whether its class has sdpa, heads: as transformers 5.23 has classes
MODELS = (
    ("tiny-bert", True, ALL), ("tiny-roberta", True, ALL), ("tiny-distilbert", True, ALL), ("tiny-gpt2", True, ALL),
    ("tiny-gpt-neo", False, ALL), ("tiny-gpt-neox", True, ALL), ("tiny-llama", True, ALL), ("tiny-mistral", True, ALL),
    ("tiny-qwen2", True, ALL), ("tiny-qwen3", True, ALL), ("tiny-gemma", True, (SEQUENCE, TOKEN)),
    ("tiny-gemma2", False, (SEQUENCE, TOKEN)), ("tiny-gemma3", True, (SEQUENCE,)),
    ("tiny-opt", True, (SEQUENCE, QUESTION)), ("tiny-opt-projected", True, (SEQUENCE, QUESTION)),
    ("tiny-falcon", True, ALL), ("tiny-bloom", False, ALL), ("tiny-phi3", True, (SEQUENCE, TOKEN)),
    ("tiny-mixtral", True, ALL), ("tiny-qwen2-moe", True, ALL), ("tiny-qwen3-moe", True, ALL),
    ("tiny-deepseek-v2", True, (SEQUENCE,)), ("tiny-deepseek-v3", True, (SEQUENCE, TOKEN)),
)
REAL = (("bert-base-cased", ALL), ("FacebookAI/roberta-base", ALL), ("distilbert-base-uncased", ALL), ("gpt2", ALL),
        ("meta-llama/Llama-3.2-1B", (SEQUENCE, TOKEN)), ("Qwen/Qwen2.5-0.5B", (SEQUENCE,)),
        ("FacebookAI/xlm-roberta-base", ALL))


def head_cases(case_of, optimizer_for):
    out = []

    def both(model, precision, batch, seq, attention, head, **more):
        out.append(case_of(model, "train", precision, batch, seq, attention, optimizer_for(precision), head=head, **more))
        out.append(case_of(model, "infer", precision, batch, seq, attention, head=head, **more))

    for precision in ("float32", "bfloat16", "amp-bfloat16"):
        for model, fused, heads in MODELS:
            for head in heads:
                both(model, precision, 2, 8, "sdpa" if fused else "eager", head)
                both(model, precision, 2, 8, "eager", head, padding=True)
                if model in ("tiny-gpt2", "tiny-llama", "tiny-opt"):
                    both(model, precision, 2, 8, "eager", head, use_cache=True)
                    both(model, precision, 2, 8, "eager", head, use_cache=True, outputs="kept")
                if precision == "float32":
                    both(model, precision, 2, 8, "eager", head, outputs="kept")
        for model, heads in REAL:
            for head in heads:
                both(model, precision, 8, 128, "sdpa", head)
        for model in ("bert-base-cased", "gpt2", "google-t5/t5-small"):
            for padding in ({}, {"padding": True}):
                out.append(case_of(model, "infer", precision, 32, 256, "sdpa", head="embedding", **padding))
        out.append(case_of("gpt2", "infer", precision, 32, 256, "sdpa", head="embedding", use_cache=True))
        for model in ("tiny-t5", "google-t5/t5-small"):
            out.append(case_of(model, "infer", precision, 8, 128, "sdpa", head="encoder"))
            out.append(case_of(model, "infer", precision, 8, 128, "eager", head="encoder"))
    return out
