"""Who takes and gives back memory: a ledger over PyTorch's dispatcher.

Every tensor that an operator returns is seen here, just below autograd, where one entry is one kernel call on a GPU.
A storage that was not seen before is an allocation of its bytes; its death (a weak reference on the storage, exact and
immediate, because CPython counts references) is the release. Sizes are requested bytes: nothing is rounded.

It is not an allocator, and it does not see what a kernel takes for itself and gives back before it returns.
"""
import contextlib
import weakref

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


# In which order an operator takes memory for its outputs, where it is not their order; read in its CUDA source.
ALLOCATION_ORDER = {"native_dropout": (1, 0), "_scaled_dot_product_cudnn_attention": (6, 7, 0, 1)}


def operator_of(name):
    """The default overload; None where this release has no such operator."""
    return getattr(torch.ops.aten, name).default if hasattr(torch.ops.aten, name) else None


GROUPED_PRODUCT, SAFE_SOFTMAX = operator_of("_grouped_mm"), operator_of("_safe_softmax")
CUDNN_ATTENTION = operator_of("_scaled_dot_product_cudnn_attention")


def absent_on_device(func, args, out):
    """Outputs that the meta kernel makes and CUDA does not: seeds kept on the host, statistics nobody asked for."""
    if func is torch.ops.aten._scaled_dot_product_efficient_attention.default:
        return [out[2], out[3]]
    if func is CUDNN_ATTENTION and not args[4]:
        return [out[1]]
    return []


class LastReference(TorchDispatchMode):
    """Reads how often a gradient's storage is held that only autograd's input buffer holds."""
    count = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.add.Tensor and torch._C._current_graph_task_id() != -1:
            self.count = torch._C._storage_Use_Count(args[0].untyped_storage()._cdata)
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            out.untyped_storage()  # as the ledger does
        return out


def last_storage_reference():
    leaf = torch.empty(1, device="meta", requires_grad=True)
    with LastReference() as mode:
        value = leaf.clone()
        (value.exp() + value.sin()).backward()
    return mode.count


# What Tensor._use_count reports inside a dispatch mode for a tensor that only autograd's input buffer holds, and what
# its storage reports: the calling convention adds the rest, and from some release on the Python wrapper (2 in 2.11, 1 in
# 2.6). shadow_check.py proves both.
LAST_TENSOR_REFERENCE, LAST_STORAGE_REFERENCE = 4, last_storage_reference()


def storages_have_one_object():
    """Whether a storage keeps its Python object, whose death is then the storage's; torch 2.1 makes one for each question."""
    tensor = torch.empty(1, device="meta")
    reference = weakref.ref(tensor.untyped_storage())
    return reference() is not None


DEATHS_ARE_TOLD = storages_have_one_object()


# As releases have named it.
is_dense = getattr(torch._prims_common, "is_non_overlapping_and_dense_or_false", None) or (
    torch._prims_common.is_non_overlapping_and_dense)


def is_last_reference(tensor):
    """Would the autograd engine add a second gradient into this first one in place?

    It does when it holds the last reference, but never while a dispatch mode is active; so the ledger decides for it.
    """
    return (torch._C._current_graph_task_id() != -1 and not torch.is_grad_enabled()
            and getattr(tensor, "_use_count", lambda: LAST_TENSOR_REFERENCE)() == LAST_TENSOR_REFERENCE
            and torch._C._storage_Use_Count(tensor.untyped_storage()._cdata) == LAST_STORAGE_REFERENCE and is_dense(tensor))


def is_mask_of_math_attention(scores, mask, *more):
    """Math attention adds its mask in place, but never while a dispatch mode is active; so the ledger does. The sum is
    told by its caller: that operator makes it without Python in between."""
    return MathAttention.active and isinstance(mask, torch.Tensor) and scores.dim() == 4


class MathAttention:
    """Set while scaled_dot_product_attention runs its math form."""
    active = False

    def __enter__(self):
        MathAttention.active = True

    def __exit__(self, *error):
        MathAttention.active = False


# What autograd writes into zeros that it has just made, in place but where a dispatch mode is active.
INTO_ZEROS = {torch.ops.aten.index_put.default: torch.ops.aten.index_put_.default,
              torch.ops.aten.scatter.src: torch.ops.aten.scatter_.src,
              torch.ops.aten.scatter_add.default: torch.ops.aten.scatter_add_.default}


def grouped_product(one, two, offsets):
    """_grouped_mm of other types than bfloat16, which CUDA multiplies group by group into one result; the meta kernel
    refuses them. Rows of the result are padded to 16 bytes, as of bfloat16."""
    if one.dim() == 2:
        shape = [one.shape[0], two.shape[-1]] if two.dim() == 3 else [offsets.shape[0], one.shape[0], two.shape[1]]
    else:
        raise NotImplementedError("a grouped product with a batch on the left")
    alignment = 16 // one.element_size()
    row = -(-shape[-1] // alignment) * alignment
    strides = [row, 1] if len(shape) == 2 else [shape[1] * row, row, 1]
    return torch.ops.aten.empty_strided.default(shape, strides, dtype=one.dtype, device=one.device)


class StorageLedger(TorchDispatchMode):
    """Counts live bytes of one device type ("meta" or "cpu"); keeps the ordered events if asked to."""

    def __init__(self, device_type="meta", keep_events=False):
        super().__init__()
        self.device_type = device_type
        self.events = [] if keep_events else None
        self.recorded = None
        self._live_bytes = 0
        self.peak_bytes = 0
        self.peak_operator = None
        self.operators = set()  # names of everything that was called
        self._live = {}  # address of the StorageImpl: (id, bytes)
        self._count = 0
        self._watched = {}  # address: [(weak reference, what its death calls)], where nobody tells of it
        self.not_on_device = set()  # addresses of storages that a GPU would not hold
        self.inside = lambda func: None  # the Python that an operator runs, where it is to be seen inside

    @property
    def live_bytes(self):
        self._look()
        return self._live_bytes

    def _watch(self, storage, call):
        """Calls call(address) when the storage has died: at once, or before anything else is taken or read."""
        if DEATHS_ARE_TOLD:
            weakref.finalize(storage, call, storage._cdata).atexit = False
        else:
            self._watched.setdefault(storage._cdata, []).append((StorageWeakRef(storage), call))

    def _look(self):
        """What has died since the last look. A reference holds the address, so that no other storage has it meanwhile."""
        for address in [address for address, watches in self._watched.items() if watches[0][0].expired()]:
            for _, call in self._watched.pop(address):
                call(address)

    def _hide(self, tensor):
        storage = tensor.untyped_storage()
        self.not_on_device.add(storage._cdata)
        self._watch(storage, self.not_on_device.discard)

    def adopt(self, tensor, name):
        """Count a storage that exists already (parameters, buffers, inputs) under a name."""
        self._see(tensor, name)

    def reset_peak(self):
        self.peak_bytes, self.peak_operator = self.live_bytes, None

    def stop_events(self):
        """Keep the events so far and record no more."""
        self._look()
        self.events, self.recorded = None, self.events

    def mark(self, stage):
        self._look()
        if self.events is not None:
            self.events.append(["stage", stage])

    def _see(self, tensor, name):
        if tensor.device.type != self.device_type:
            return
        storage = tensor.untyped_storage()
        address, size = storage._cdata, storage.nbytes()
        known = self._live.get(address)
        if known is not None or address in self.not_on_device:
            return
        self._count += 1
        number = self._count
        self._live[address] = (number, size)
        self._live_bytes += size
        if self._live_bytes > self.peak_bytes:
            self.peak_bytes, self.peak_operator = self._live_bytes, name
        if self.events is not None:
            self.events.append(["alloc", number, size, name])
        self._watch(storage, self._gone)

    def _gone(self, address):
        number, size = self._live.pop(address)
        self._live_bytes -= size
        if self.events is not None:
            self.events.append(["free", number])

    def _safe_softmax(self, scores, dim):
        """Math attention's softmax is one operator to autograd and five kernels to the allocator."""
        aten = torch.ops.aten
        out = aten._softmax(scores, dim, False)
        self._see(out, "_softmax")
        infinite = aten.isneginf(scores)
        self._see(infinite, "isneginf")
        rows = aten.all.dim(infinite, dim, True)
        self._see(rows, "all")
        zero = aten.scalar_tensor(0.0, dtype=out.dtype, device=out.device)
        self._see(zero, "scalar_tensor")
        aten.masked_fill_.Tensor(out, rows, zero)
        del zero
        del rows
        del infinite
        return out

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self._look()
        if func is GROUPED_PRODUCT and args[0].is_meta and args[0].dtype != torch.bfloat16:
            func, args, kwargs = grouped_product, args[:3], None
        if func in INTO_ZEROS and args[0].is_meta and torch._C._current_graph_task_id() != -1:
            return torch.ops.aten.alias(INTO_ZEROS[func](*args, **(kwargs or {})))
        inner = self.inside(func)
        if inner is not None:
            with self:
                return inner(*args, **(kwargs or {}))
        if func is torch.ops.aten.add.Tensor and not kwargs and is_last_reference(args[0]):
            return torch.ops.aten.add_.Tensor(*args)
        if func is SAFE_SOFTMAX and not kwargs:
            return self._safe_softmax(*args[:2])
        if func is torch.ops.aten.add.Tensor and is_mask_of_math_attention(*args):
            return torch.ops.aten.alias(torch.ops.aten.add_.Tensor(*args))
        if func is torch.ops.aten.index.Tensor:  # a list becomes a tensor of the device where no dispatch mode looks
            for tensor in args[1]:
                if tensor is not None:
                    self._see(tensor, "index list")
        if func is torch.ops.aten.where.self and args[2].dim() == 0:  # torch.tensor(number, device=...), likewise
            self._see(args[2], "tensor")
        out = func(*args, **(kwargs or {}))
        for tensor in absent_on_device(func, args, out):
            self._hide(tensor)
        name = func._schema.name.replace("aten::", "") if hasattr(func, "_schema") else func.__name__
        if func is torch.ops.aten._to_copy.default and args[0].device.type != self.device_type:
            name = "to_device"
        self.operators.add(name)
        for leaf in tree_flatten([out[i] for i in ALLOCATION_ORDER[name]] if name in ALLOCATION_ORDER else out)[0]:
            if isinstance(leaf, torch.Tensor):
                self._see(leaf, name)
        return out


class SavedTensors:
    """What autograd keeps for the backward pass: distinct storages, told apart by what they are."""

    def __init__(self, known, device_type="meta"):
        self.storages = [t.untyped_storage() for tensors in known.values() for t in tensors]  # no address is used again
        self.known = {t.untyped_storage()._cdata: kind for kind, tensors in known.items() for t in tensors}
        self.device_type = device_type
        self.boxes = []  # weak references, in the order of saving

    class Box:
        __slots__ = ("tensor", "__weakref__")

        def __init__(self, tensor):
            self.tensor = tensor

    def _pack(self, tensor):
        box = self.Box(tensor.detach())
        self.boxes.append(weakref.ref(box))
        return box

    def recording(self):
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda box: box.tensor)

    def account(self, not_on_device=(), more=()):
        """Totals of the storages that are still kept: kind → bytes, dtype → [storages, bytes] of the activations. more:
        tensors that functions keep where no hook sees them."""
        kinds, dtypes, seen = {}, {}, set(not_on_device)
        for tensor in [*(box.tensor for box in filter(None, (reference() for reference in self.boxes))), *more]:
            storage = tensor.untyped_storage()
            if tensor.device.type != self.device_type or storage._cdata in seen:
                continue
            seen.add(storage._cdata)
            kind, size = self.known.get(storage._cdata, "activations"), storage.nbytes()
            kinds[kind] = kinds.get(kind, 0) + size
            if kind == "activations":
                row = dtypes.setdefault(str(tensor.dtype)[6:], [0, 0])
                row[0] += 1
                row[1] += size
        return {kind: kinds[kind] for kind in sorted(kinds)}, {name: dtypes[name] for name in sorted(dtypes)}


@contextlib.contextmanager
def exact_lifetimes():
    """Only reference counts decide: the cycle collector would make the timeline depend on chance."""
    import gc
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
