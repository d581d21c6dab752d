"""Sections "attention", "operators", "reductions" and "more operators": what one call takes from the allocator, forward and backward.

Rows are [requested bytes, held at the end] in the order of the requests, of the second call (libraries are warm).
What is held after the forward pass is the output and what is saved; after the backward pass, the gradients. What is
not held is scratch, or a temporary of an operator that is composed of others.
"""
import contextlib

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend

from allocations import forward_and_backward
from truth_meter import CudaMeter

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# name: (batch, heads, key heads, sequence, head dimension)
ATTENTION_SHAPES = {
    "bert": (2, 12, 12, 512, 64), "short": (1, 12, 12, 128, 64), "odd": (4, 12, 12, 900, 64), "long": (1, 32, 32, 2048, 128),
    "llama-3.2-1b": (2, 32, 8, 512, 64), "qwen2.5-0.5b": (2, 14, 2, 512, 64), "vit": (8, 12, 12, 197, 64),
    "gpt2": (8, 12, 12, 512, 64), "gpt2-xl": (1, 25, 25, 1024, 64), "wide": (1, 8, 8, 512, 256), "narrow": (1, 8, 8, 512, 80), "tiny": (2, 4, 4, 8, 8),
    "one": (4, 12, 12, 1, 64),
}
# name: (causal flag, mask or None, dropout, whether gradients are wanted), the forms that models use most first
ATTENTION_FORMS = {"plain": (False, None, 0.0, True), "causal": (True, None, 0.0, True),
                   "plain inference": (False, None, 0.0, False), "causal inference": (True, None, 0.0, False),
                   "dropout": (False, None, 0.1, True), "boolean mask": (False, "bool", 0.0, True),
                   "additive mask": (False, "float", 0.0, True), "causal dropout": (True, None, 0.1, True)}
PACKED = ("gpt2", "gpt2-xl")  # one tensor holds queries, keys and values side by side, as GPT-2 makes them
FLOAT16_SHAPES, CAUSAL_DROPOUT_SHAPES = ("bert",), ("bert", *PACKED)


def attention_combinations():
    """(form, shape, dtype): each costs cuDNN a plan, so what says the same again is left out."""
    for form in ATTENTION_FORMS:
        for shape in ATTENTION_SHAPES:
            for dtype in DTYPES:
                if (dtype != "float16" or shape in FLOAT16_SHAPES) and (
                        form != "causal dropout" or shape in CAUSAL_DROPOUT_SHAPES):
                    yield form, shape, dtype


def mask_of(kind, batch, seq, dtype, device):
    if kind is None:
        return None
    keep = torch.ones(batch, 1, seq, seq, dtype=torch.bool, device=device).tril()
    return keep if kind == "bool" else torch.zeros(batch, 1, seq, seq, dtype=dtype, device=device)


def backend_of(q, k, v, mask, dropout, causal, grouped):
    """PyTorch's own choice; None where it is not asked (CPU)."""
    if not q.is_cuda:
        return None
    return SDPBackend(torch._fused_sdp_choice(q, k, v, mask, dropout, causal, enable_gqa=grouped)).name


def attention_line(shape_name, form_name, dtype_name, device):
    batch, heads, key_heads, seq, width = ATTENTION_SHAPES[shape_name]
    causal, mask_kind, dropout, learns = ATTENTION_FORMS[form_name]
    dtype, grouped, packed = DTYPES[dtype_name], key_heads != heads, shape_name in PACKED

    def tensor(count):  # as transformers makes it: (B, S, a, D) in memory, seen as (B, a, S, D)
        return torch.randn(batch, seq, count, width, device=device, dtype=dtype, requires_grad=learns)

    inputs = (tensor(3 * heads),) if packed else (tensor(heads), tensor(key_heads), tensor(key_heads))
    mask = mask_of(mask_kind, batch, seq, dtype, device)

    def attend(*tensors):
        q, k, v = (t.transpose(1, 2) for t in (tensors[0].split(heads, dim=2) if packed else tensors))
        choices.append(backend_of(q, k, v, mask, dropout, causal, grouped))
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, enable_gqa=grouped).transpose(1, 2)

    choices = []
    with contextlib.nullcontext() if learns else torch.no_grad():
        rows = forward_and_backward(attend, inputs, device)
    return {"type": "attention", "shape": shape_name, "batch": batch, "heads": heads, "key_heads": key_heads, "seq": seq,
            "head_dimension": width, "packed": packed, "form": form_name, "dtype": dtype_name, "backend": choices[-1],
            **rows}


def attention_lines(device):
    if device == "cuda":
        CudaMeter()
    for form, shape, dtype in attention_combinations():
        try:
            yield attention_line(shape, form, dtype, device)
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            yield {"type": "attention", "shape": shape, "form": form, "dtype": dtype, "error": str(error)[:200]}


def operator_cases(device, dtype):
    """(name, function, inputs): the operators of our models whose kernels may take memory for themselves."""
    def leaf(*shape):
        return torch.randn(*shape, device=device, dtype=dtype).requires_grad_()

    def ids(count, vocab):
        return torch.randint(0, vocab, (count,), device=device)

    hidden, seq = 768, 512
    for rows in (128, 4096):
        x, w, b = leaf(rows, hidden), leaf(hidden), leaf(hidden)
        yield f"layer_norm {rows}x{hidden}", lambda x, w, b: F.layer_norm(x, (hidden,), w, b), (x, w, b)
        yield f"rms_norm {rows}x{hidden}", lambda x, w: F.rms_norm(x, (hidden,), w), (x, w)
        yield f"linear with bias {rows}", F.linear, (leaf(rows, hidden), leaf(3072, hidden), leaf(3072))
        yield f"linear {rows}", F.linear, (leaf(rows, hidden), leaf(3072, hidden))
        yield f"addmm {rows}", lambda b, x, w: torch.addmm(b, x, w), (leaf(2304), leaf(rows, hidden), leaf(hidden, 2304))
        yield f"gelu {rows}", F.gelu, (leaf(rows, 3072),)
        yield f"silu {rows}", F.silu, (leaf(rows, 3072),)
        yield f"dropout {rows}", lambda x: F.dropout(x, 0.1, True), (leaf(rows, hidden),)
        yield f"sum of rows {rows}", lambda x: x.sum(0), (leaf(rows, hidden),)
        for vocab in (28996, 151936):
            index = ids(rows, vocab)
            yield f"embedding {rows} of {vocab}", lambda w, i=index: F.embedding(i, w), (leaf(vocab, 64),)
        target = ids(rows, 30522)
        yield f"cross_entropy {rows}x30522", lambda x, t=target: F.cross_entropy(x, t), (leaf(rows, 30522),)
        yield f"cross_entropy float {rows}x30522", lambda x, t=target: F.cross_entropy(x.float(), t), (leaf(rows, 30522),)
    yield "softmax", lambda x: F.softmax(x, -1), (leaf(2, 12, seq, seq),)
    yield "softmax float32", lambda x: F.softmax(x, -1, dtype=torch.float32), (leaf(2, 12, seq, seq),)
    yield "batched product", torch.matmul, (leaf(2, 12, seq, 64), leaf(2, 12, 64, seq))
    for shape in ((8, 64, 112, 112), (8, 2048, 7, 7)):
        # of the model's dtype, and for half precision of float32 too, as autocast has it
        for statistics in dict.fromkeys((dtype, torch.float32)):
            x, channels = leaf(*shape), shape[1]
            w, mean = (torch.zeros(channels, device=device, dtype=statistics) for _ in range(2))
            b, variance = (torch.ones(channels, device=device, dtype=statistics) for _ in range(2))
            for training in (True, False):
                yield (f"batch_norm {'training' if training else 'evaluation'} {channels}, statistics {statistics}",
                       lambda x, w, b, m=mean, v=variance, t=training: F.batch_norm(x, m, v, w, b, t),
                       (x, w.requires_grad_(), b.requires_grad_()))
    yield "max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), (leaf(8, 64, 112, 112),)
    yield "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), (leaf(8, 512, 7, 7),)


def operator_lines(device):
    if device == "cuda":
        CudaMeter()
    for dtype_name, dtype in DTYPES.items():
        for name, function, inputs in operator_cases(device, dtype):
            line = {"type": "operator", "name": name, "dtype": dtype_name}
            try:
                line.update(forward_and_backward(lambda *t: function(*t), inputs, device))
            except RuntimeError as error:
                line["error"] = str(error)[:200]
            yield line


# [rows, columns] that are added up to [1, columns]: where the blocks of a column share its rows, and how many do
REDUCTION_ROWS = (32, 64, 128, 256, 384, 512, 768, 1024, 1576, 2048, 4096, 6304, 12608, 32768)
REDUCTION_COLUMNS = (64, 768, 1000, 2304, 3072, 30522)


def reduction_lines(device):
    if device == "cuda":
        CudaMeter()
    for dtype_name in ("float32", "bfloat16"):
        for rows in REDUCTION_ROWS if device == "cuda" else REDUCTION_ROWS[:2]:
            for columns in REDUCTION_COLUMNS:
                x = torch.ones(rows, columns, device=device, dtype=DTYPES[dtype_name])
                yield {"type": "reduction", "rows": rows, "columns": columns, "dtype": dtype_name,
                       **forward_and_backward(lambda x: x.sum(0, keepdim=True), (x,), device)}


# layer norms of more than 65,536 rows add the gradients of their weights up in parts, if multiprocessors are left over
TALL = ((65536, 768), (65537, 768), (100352, 96), (131072, 768), (131072, 1600), (131072, 4096), (1048576, 64))


def more_operator_cases(device, dtype):
    """(name, function, inputs): norms of tall matrices, losses, and what generation does with logits."""
    def leaf(*shape):
        return torch.randn(*shape, device=device, dtype=dtype).requires_grad_()

    def plain(*shape):
        return torch.randn(*shape, device=device, dtype=dtype)

    for rows, columns in TALL if device == "cuda" else ((16, 768),):
        yield (f"layer_norm {rows}x{columns}", lambda x, w, b, n=columns: F.layer_norm(x, (n,), w, b),
               (leaf(rows, columns), leaf(columns), leaf(columns)))
        yield (f"rms_norm {rows}x{columns}", lambda x, w, n=columns: F.rms_norm(x, (n,), w),
               (leaf(rows, columns), leaf(columns)))
    for channels in (64, 512):
        yield (f"group_norm {channels}", lambda x, w, b, n=channels: F.group_norm(x, n // 4, w, b),
               (leaf(32, channels, 512), leaf(channels), leaf(channels)))
    for rows, vocab in ((1, 128256), (64, 32000), (4096, 32000))[:3 if device == "cuda" else 2]:
        logits = leaf(rows, vocab)
        yield f"log_softmax {rows}x{vocab}", lambda x: F.log_softmax(x, -1), (logits,)
        yield f"softmax {rows}x{vocab}", lambda x: F.softmax(x, -1), (logits,)
        yield f"sum of all {rows}x{vocab}", lambda x: x.sum(), (logits,)
        yield f"mean of all {rows}x{vocab}", lambda x: x.mean(), (logits,)
        yield f"norm {rows}x{vocab}", lambda x: torch.linalg.vector_norm(x), (plain(rows, vocab),)
        yield f"mean of columns {rows}x{vocab}", lambda x: x.mean(-1), (logits,)
    for rows, vocab in ((1, 32000), (1, 128256), (8, 50257), (64, 151936)):
        logits = plain(rows, vocab)
        yield f"argmax {rows}x{vocab}", lambda x: x.argmax(-1), (logits,)
        yield f"topk 50 {rows}x{vocab}", lambda x: torch.topk(x, 50)[0], (logits,)
        yield f"topk 4 {rows}x{vocab}", lambda x: torch.topk(x, 4)[0], (logits,)
        yield f"sort {rows}x{vocab}", lambda x: torch.sort(x)[0], (logits,)
        yield f"cumsum {rows}x{vocab}", lambda x: x.cumsum(-1), (logits,)
        yield f"max {rows}x{vocab}", lambda x: x.max(-1)[0], (logits,)
        yield f"logsumexp {rows}x{vocab}", lambda x: x.logsumexp(-1), (logits,)
        yield f"multinomial {rows}x{vocab}", lambda x: torch.multinomial(x, 1), (plain(rows, vocab).float().softmax(-1),)
    yield "foreach_norm", lambda *t: torch._foreach_norm(t)[0], tuple(plain(768, 3072) for _ in range(24))
    yield "kl_div 4096x32000", lambda x, t: F.kl_div(x, t, reduction="batchmean"), (leaf(4096, 32000), plain(4096, 32000))


def more_operator_lines(device):
    if device == "cuda":
        CudaMeter()
    for dtype_name in ("float32", "bfloat16"):
        for name, function, inputs in more_operator_cases(device, DTYPES[dtype_name]):
            line = {"type": "more operator", "name": name, "dtype": dtype_name}
            try:
                with contextlib.nullcontext() if inputs[0].requires_grad else torch.no_grad():
                    line.update(forward_and_backward(lambda *t: function(*t), inputs, device))
            except RuntimeError as error:
                line["error"] = str(error)[:200]
            del inputs
            yield line
