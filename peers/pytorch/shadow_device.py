"""Make the meta device take the decisions that PyTorch takes on a CUDA device of compute capability 9.0.

On meta no kernel runs, but operator choices that ask "is this tensor on CUDA?" go the other way. The ones our models
meet are listed here, each with what CUDA does: fused dropout, the attention backend, the half-precision softmax, batch
normalisation in evaluation, the fused optimizers. Autocast: shadow_autocast.py.
"""
import contextlib
import math

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from shadow_autocast import CudaAutocast
from shadow_ledger import MathAttention

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
# sdp_utils.cpp, priority_order: 2.9 asks cuDNN first; 2.10 wants a newer one than its wheels bring.
ASKS_CUDNN = RELEASE >= (2, 9) and RELEASE != (2, 10)
# Older releases have no such argument: their callers repeat keys and values.
GROUPED = {"enable_gqa"} if RELEASE >= (2, 5) else set()


def efficient_attention(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, scale=None):
    """What torch 2.4 has no meta kernel for, as 2.1 and 2.6 have it."""
    rows = -(-query.shape[-2] // 32) * 32 if compute_log_sumexp else 0
    out = query.new_empty(query.shape[0], query.shape[-2], query.shape[1], value.shape[-1]).transpose(1, 2)
    sums = query.new_empty(query.shape[0], query.shape[1], rows, dtype=torch.float32)
    seed = torch.empty((), dtype=torch.long, device="meta")
    return out, sums, seed, torch.empty_like(seed)


def flash_attention(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, scale=None):
    """The same, of the flash kernel; its seeds lie on the host."""
    out = query.new_empty(query.shape[0], query.shape[-2], query.shape[1], query.shape[-1]).transpose(1, 2)
    sums = query.new_empty(query.shape[:3], dtype=torch.float32)
    none, seed = query.new_empty(0), torch.empty((), dtype=torch.long)
    return out, sums, none, none.clone(), query.shape[-2], key.shape[-2], seed, seed.clone(), none.clone()


def nothing(*arguments, **keywords):
    """A kernel that writes in place."""


META = torch.library.Library("aten", "IMPL", "Meta")
for name, kernel in (("_scaled_dot_product_efficient_attention", efficient_attention),
                     ("_scaled_dot_product_flash_attention", flash_attention), ("_fused_adamw_", nothing),
                     ("_fused_adam_", nothing)):
    if not torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "Meta"):
        META.impl(name, kernel)

# They write where they read, allocate nothing, and have no form for meta tensors.
SCALER_KERNELS = (aten._amp_foreach_non_finite_check_and_unscale_.default, aten._amp_update_scale_.default)


def choose_attention(query, key, value, attn_mask, dropout_p, is_causal, needs_gradient, enable_gqa=True):
    """The backend of this release on sm_90 with the cuDNN that its wheels bring: cudnn, flash, efficient, math.
    attention_choice.py holds these rules against the dispatcher of torch 2.11."""
    width, rows, columns = query.shape[-1], query.shape[-2], key.shape[-2]
    widths = (width, value.shape[-1])
    if query.shape[1] != key.shape[1] and not enable_gqa:
        return "math"
    if query.dtype in HALF:
        learned = attn_mask is not None and needs_gradient and attn_mask.requires_grad
        fits = columns != 1 and not (rows == 1 and dropout_p > 0) and not learned
        if ASKS_CUDNN and all(w % 8 == 0 and w <= 256 for w in widths) and fits:
            return "cudnn"
        if attn_mask is None and width == widths[1] <= 256 and not (is_causal and rows != columns):
            return "flash"
    if query.shape[1] == key.shape[1] and all(w % (8 if query.dtype in HALF else 4) == 0 for w in widths):
        return "efficient"
    return "math"


def additive_mask(attn_mask, dtype):
    """A boolean mask as numbers, as every call of scaled_dot_product_attention makes them."""
    if attn_mask is None or attn_mask.dtype != torch.bool:
        return attn_mask
    zero = torch.scalar_tensor(0.0, dtype=dtype, device=attn_mask.device)
    lowest = torch.scalar_tensor(-math.inf, dtype=dtype, device=attn_mask.device)
    return torch.where(attn_mask, zero, lowest)


def aligned_mask(attn_mask, query, key):
    """What the memory-efficient kernel asks of a mask: rows that begin at multiples of 8 elements."""
    length = attn_mask.shape[-1]
    if any(stride % 8 for stride in attn_mask.stride()[:-1]):
        attn_mask = F.pad(attn_mask, (0, 8 - length % 8))[..., :length]
    return attn_mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if CudaAutocast.active is not None:
        query, key, value, attn_mask = CudaAutocast.active.cast_all([query, key, value, attn_mask],
                                                                    CudaAutocast.active.dtype)
    needs_gradient = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    backend = choose_attention(query, key, value, attn_mask, dropout_p, is_causal, needs_gradient, enable_gqa)
    attn_mask = additive_mask(attn_mask, query.dtype)
    if backend == "math":
        with MathAttention():
            return aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, None,
                                                           scale=scale, **dict.fromkeys(GROUPED, enable_gqa))[0]
    if backend == "flash":
        width, scale = query.shape[-1], scale or 1 / math.sqrt(query.shape[-1])
        if width % 8:
            query, key, value = (F.pad(t, (0, 8 - width % 8)) for t in (query, key, value))
        return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False,
                                                        scale=scale)[0][..., :width]
    if backend == "cudnn":
        return aten._scaled_dot_product_cudnn_attention(query, key, value, attn_mask, needs_gradient, dropout_p,
                                                        is_causal, False, scale=scale)[0]
    if attn_mask is not None:
        attn_mask = aligned_mask(attn_mask, query, key)
    return aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, needs_gradient, dropout_p,
                                                        is_causal, scale=scale)[0]


def dropout(input, p=0.5, training=True, inplace=False):
    """CUDA: one fused kernel that also writes a mask of one byte per element; nothing at all when p is 0."""
    if not training or p == 0.0:
        return input
    return torch.native_dropout(input, p, True)[0]


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """CUDA fuses the conversion float16 → float32 into the kernel; bfloat16 is converted first, as everywhere."""
    if CudaAutocast.active is not None and dtype is None:
        dtype = torch.float32
    if input.dtype == torch.float16 and dtype == torch.float32:
        return aten._softmax(input, dim, True)
    return torch.softmax(input, dim, dtype=dtype)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """CUDA in evaluation: cuDNN, which leaves no statistics behind, where it takes the call (batchnorm_choice.txt)."""
    types_fit = torch.bfloat16 not in (input.dtype, weight.dtype) and (input.dtype != torch.float16 or
                                                                       weight.dtype == torch.float32)
    if not training and types_fit and input.dim() >= 3 and input.size(0) <= 65535 and input.numel() < 2**31 - 1:
        return aten.cudnn_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)[0]
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


class InputValues(TorchDispatchMode):
    """Answers the questions that models ask about values. transformers asks one kind, "is every token attended to /
    in one sequence?", with a boolean; for unpadded inputs the answer is yes, for padded ones no."""

    def __init__(self, padding):
        super().__init__()
        self.padding = padding

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default and args[0].is_meta and args[0].dtype == torch.bool:
            return not self.padding
        if func is aten._local_scalar_dense.default and args[0].is_meta and args[0].is_floating_point():
            return 1.0  # a norm that an optimizer asks for
        if func in SCALER_KERNELS and args[1].is_meta:
            return None
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def compute_capability_90(answers=True, padding=False):
    """Patch the operator choices for the duration of a with block: tensors are meta, decisions are CUDA's.

    `answers`: reply to questions about values, those of a padded batch or not; not wanted where tensors have values.
    """
    from torch.nn.utils import clip_grad
    from torch.optim import adam, adamw, optimizer
    changes = [(F, "scaled_dot_product_attention", attention), (F, "dropout", dropout), (F, "softmax", softmax),
               (F, "batch_norm", batch_norm),
               (torch, "dropout", lambda input, p, train: dropout(input, p, train)),
               (clip_grad, "_has_foreach_support", lambda tensors, device: True)]
    for owner in (adam, adamw, optimizer):  # older releases ask by the second name, in each optimizer
        changes += [(owner, "_device_dtype_check_for_fused", lambda p, cuda_unsupported=False: None),
                    (owner, "_get_fused_kernels_supported_devices", lambda: ["meta"])]
    changes = [change for change in changes if hasattr(change[0], change[1])]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, new in changes:
        setattr(owner, name, new)
    try:
        with InputValues(padding) if answers else contextlib.nullcontext():
            yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)
