"""Which cases are measured on a GPU; one dictionary each, with the same identity fields as the shadow's."""
import re

from shadow_cases import case_of

TEXT = ("bert-base-cased", "gpt2", "llama-3.2-1b", "qwen2.5-0.5b", "bert-large-uncased", "gpt2-medium")
IMAGE = ("resnet50", "resnet18", "vit-base", "resnet152")
GENERATED_TOKENS = 16  # each new length makes cuDNN build a plan: seconds, not milliseconds

# Their allocations are recorded one by one, to be replayed through our own allocator.
TRACED = ("bert-base-cased/train/float32/sdpa/1/128/adam-foreach", "gpt2/infer/bfloat16/sdpa/8/512/None/bare",
          "resnet18/train/float32/sdpa/8/None/adam-foreach", "llama-3.2-1b/train/bfloat16/sdpa/1/128/adamw-fused")

# Measured again and again in fresh processes: how much of each level is chance.
REPEATED = ("bert-base-cased/load/float32/sdpa/1/None/None/bare", "gpt2/infer/bfloat16/sdpa/8/512/None/bare",
            "llama-3.2-1b/infer/bfloat16/sdpa/8/512/None", "resnet50/infer/float32/sdpa/32/None/None",
            "gpt2/generate/bfloat16/sdpa/1/512/None", "bert-base-cased/train/float32/sdpa/8/512/adam-foreach",
            "gpt2/train/amp-bfloat16/sdpa/8/512/adamw-fused", "llama-3.2-1b/train/bfloat16/sdpa/1/128/adamw-fused",
            "resnet50/train/amp-bfloat16/sdpa/64/None/adamw-fused", "vit-base/train/float32/sdpa/8/None/adam-foreach")


def head_of(model, mode):
    """Encoders and GPT-2 are loaded and run bare, as feature extractors; who trains or generates has a head."""
    bare = model.startswith(("bert", "gpt2")) and mode in ("load", "infer")
    return "bare" if bare else "lm"


def truth_case(model, mode, precision, batch=1, seq=None, attention="sdpa", optimizer=None, **more):
    if mode == "generate":
        more["use_cache"] = True
    case = case_of(model, mode, precision, batch, seq, attention, optimizer, head_of(model, mode), **more)
    case["id"] = case["id"].replace("/use_cache", "")
    if mode == "generate":
        case["new_tokens"] = GENERATED_TOKENS
    return case


def inference_cases():
    out = []
    for model in TEXT:
        longest = (32, 512) if model.startswith("bert") else (4, 1024)
        for precision in ("float32", "bfloat16"):
            for batch, seq in ((1, 128), (8, 512), longest):
                out.append(truth_case(model, "infer", precision, batch, seq))
        out.append(truth_case(model, "infer", "bfloat16", 4, 512, "eager"))
    for model in IMAGE:
        for precision in ("float32", "bfloat16"):
            for batch in (1, 32):
                out.append(truth_case(model, "infer", precision, batch))
    for model in ("llama-3.2-1b", "qwen2.5-0.5b", "gpt2"):
        for batch, seq in ((1, 512), (4, 900)):
            out.append(truth_case(model, "generate", "bfloat16", batch, seq))
    return out


def training_cases():
    out = []
    for model in TEXT:
        for batch, seq in ((1, 128), (8, 512)):
            out.append(truth_case(model, "train", "float32", batch, seq, optimizer="adam-foreach"))
            out.append(truth_case(model, "train", "amp-bfloat16", batch, seq, optimizer="adamw-fused"))
            out.append(truth_case(model, "train", "bfloat16", batch, seq, optimizer="adamw-fused"))
        out.append(truth_case(model, "train", "float32", 4, 512, optimizer="adam-single"))
        out.append(truth_case(model, "train", "float32", 4, 512, "eager", "adam-foreach"))
        out.append(truth_case(model, "train", "bfloat16", 4, 512, "eager", "adamw-fused"))
        out.append(truth_case(model, "train", "bfloat16", 8, 512, optimizer="adamw-fused", checkpointing=True))
        out.append(truth_case(model, "train", "float32", 4, 512, optimizer="sgd-momentum"))
    for model in IMAGE:
        for batch in (8, 64):
            out.append(truth_case(model, "train", "float32", batch, optimizer="adam-foreach"))
            out.append(truth_case(model, "train", "amp-bfloat16", batch, optimizer="adamw-fused"))
    return out


def large_cases():
    return [truth_case("t5-base", "train", "float32", 4, 512, optimizer="adam-foreach"),
            truth_case("t5-base", "infer", "bfloat16", 4, 512),
            truth_case("llama-2-7b", "infer", "bfloat16", 1, 2048),
            truth_case("llama-2-7b", "train", "bfloat16", 1, 1024, optimizer="adamw-fused"),
            truth_case("gpt2-xl", "train", "bfloat16", 4, 1024, optimizer="adamw-fused")]


def cases():
    """All of them, in an order that spreads the models: what a short run has measured is of every family. Generation,
    which is slow, comes last."""
    load = [truth_case(model, "load", precision) for model in (*TEXT, *IMAGE, "t5-base", "gpt2-xl", "llama-2-7b")
            for precision in ("float32", "float16", "bfloat16")]
    seen, places = {}, []
    for case in load + inference_cases() + training_cases() + large_cases():
        place = seen[case["model"]] = seen.get(case["model"], 0) + 1
        places.append((place, case))
    return [case for _, case in sorted(places, key=lambda pair: (pair[1]["mode"] == "generate", pair[0]))]


def select(pattern, repeat):
    """[(case, repetition)]: the cases whose id matches; with repeat > 1 the REPEATED ones, that many times each."""
    chosen = [case for case in cases() if re.search(pattern, case["id"])]
    if repeat == 1:
        return [(case, 1) for case in chosen]
    return [(case, turn) for turn in range(1, repeat + 1) for case in chosen if case["id"] in REPEATED]
