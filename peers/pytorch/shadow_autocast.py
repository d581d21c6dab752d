"""CUDA autocast on meta tensors.

PyTorch's autocast is a dispatch key of the tensor's device, and meta has none. Here the same casts are made one floor
higher, where Python calls the operators. Checked against the real thing: shadow_check.py runs the same models on fake
CUDA tensors under torch's own autocast and demands the same operators with the same dtypes in the same order.
"""
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

# The operators of CUDA's autocast lists that the models of peer_models.py call from Python.
LOWER_PRECISION = {F.linear, F.conv2d, torch.addmm, torch.matmul, torch.Tensor.matmul, torch.bmm, torch.mm,
                   torch.baddbmm, torch.Tensor.baddbmm, torch.Tensor.__matmul__}
FLOAT32 = {F.layer_norm, torch.pow, torch.Tensor.pow, torch.Tensor.__pow__, torch.rsqrt, torch.exp}
FLOAT32_IF_NO_DTYPE = {torch.sum, torch.Tensor.sum, torch.cumsum, torch.Tensor.cumsum, torch.Tensor.softmax}


class CudaAutocast(TorchFunctionMode):
    """torch.autocast("cuda", dtype), for meta tensors. Not reentrant."""

    active = None

    def __init__(self, dtype, cached=True):
        super().__init__()
        self.dtype = dtype
        self.cached = cached
        self.enabled = torch.is_autocast_enabled
        self.cast_weights = {}
        self.cast_storages = set()  # addresses, to tell weight casts from activations

    def __enter__(self):
        CudaAutocast.active = self
        torch.is_autocast_enabled = self.is_enabled
        return super().__enter__()

    def is_enabled(self, device_type=None):
        """What PEFT asks around weights of bitsandbytes; of a device torch is asked, as without the shadow."""
        return device_type is None or self.enabled(device_type)

    def __exit__(self, *error):
        CudaAutocast.active = None
        torch.is_autocast_enabled = self.enabled
        self.cast_weights.clear()
        return super().__exit__(*error)

    def cast(self, value, dtype):
        """One argument. A float32 leaf that learns is cast once and remembered until autocast ends, if it is
        cached (cache_enabled of torch.autocast)."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        if value.dtype in (dtype, torch.float64):
            return value
        learns = value.requires_grad and value.is_leaf and not value._is_view()
        if dtype == torch.float32 or value.dtype != torch.float32 or not learns or not self.cached:
            return value.to(dtype)
        known = self.cast_weights.get(id(value))
        if known is None:
            known = self.cast_weights[id(value)] = value.to(dtype)
            self.cast_storages.add(known.untyped_storage()._cdata)
        return known

    def cast_all(self, values, dtype):
        """The arguments of one call, last first: the order in which the compiler evaluates them in torch."""
        return [self.cast(value, dtype) for value in reversed(values)][::-1]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is F.cross_entropy:
            return self.cross_entropy(*args, **kwargs)
        dtype = self.dtype if func in LOWER_PRECISION else torch.float32 if func in FLOAT32 else None
        if dtype is not None:
            names = list(kwargs)
            cast = self.cast_all(list(args) + [kwargs[name] for name in names], dtype)
            args, kwargs = cast[:len(args)], dict(zip(names, cast[len(args):]))
        elif func in FLOAT32_IF_NO_DTYPE and args[0].is_floating_point():
            kwargs.setdefault("dtype", torch.float32)
        return func(*args, **kwargs)

    def cross_entropy(self, logits, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                      reduction="mean", label_smoothing=0.0):
        """log_softmax stays in the dtype of the logits, because the composite names it; nll_loss is float32."""
        scores = torch.log_softmax(logits, 1, dtype=logits.dtype)
        return F.nll_loss(self.cast(scores, torch.float32), target, ignore_index=ignore_index, reduction=reduction)
