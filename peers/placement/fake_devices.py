"""Several GPUs that are not there: fake tensors, a ledger of each device, and what accelerate and transformers ask of a GPU.

PyTorch's FakeTensorMode gives tensors the device they would have, and a ledger under the dispatcher sees every storage come and
go on each device. Nothing is computed. Replaced is what needs what is not there: nn.Parameter's class is told where a fake
tensor hides it, a fake tensor's address is a number of its storage (accelerate tells tied tensors by it, and it would be 0),
emptying the cache does nothing, a weight that comes from the disk is an empty tensor of the host of the same size, a GPU says
that it has compute capability 9.0, Module.to puts new parameters in place of fake ones, which cannot be swapped, a grouped
product of float32 makes one result, as on a GPU, and the question whether all tokens are attended to is answered with yes, any
for a number (ConvNeXt's rates of a stochastic depth) with 0.
"""
import builtins
import itertools
import pathlib
import sys
import weakref

import accelerate.utils.modeling as modeling
import accelerate.utils.offload as offload
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
from shadow_ledger import grouped_product  # noqa: E402


class DeviceLedger(TorchDispatchMode):
    """Live and highest bytes of each device. A storage is seen when an operator returns it first."""

    def __init__(self):
        super().__init__()
        self.live, self.peak, self.known = {}, {}, {}

    def see(self, tensor):
        storage = tensor.untyped_storage()
        device = str(tensor.device)
        if device == "meta" or storage._cdata in self.known:
            return
        size = storage.nbytes()
        self.known[storage._cdata] = (device, size)
        self.live[device] = self.live.get(device, 0) + size
        self.peak[device] = max(self.peak.get(device, 0), self.live[device])
        weakref.finalize(storage, self.gone, storage._cdata).atexit = False

    def gone(self, address):
        device, size = self.known.pop(address)
        self.live[device] -= size

    def peak_reset(self):
        self.peak = dict(self.live)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._grouped_mm.default and args[0].dtype != torch.bfloat16:
            devices = {str(tensor.device) for tensor in args[:3]}
            if len(devices) > 1:
                raise RuntimeError(f"a grouped product found two different devices {', '.join(sorted(devices))}")
            func, args, kwargs = grouped_product, args[:3], None
        if func is torch.ops.aten._local_scalar_dense.default:
            return True if args[0].dtype == torch.bool else 0.0
        out = func(*args, **(kwargs or {}))
        for leaf in tree_iter(out):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf)
        return out


def type_of(value, *more):
    if more:
        return builtins.type(value, *more)
    return torch.nn.Parameter if isinstance(value, torch.nn.Parameter) else builtins.type(value)


addresses, address_count = {}, itertools.count(1)


def address_of(tensor):
    """A number of the storage that no later one gets."""
    storage = tensor.untyped_storage()
    if storage._cdata not in addresses:
        addresses[storage._cdata] = next(address_count)
        weakref.finalize(storage, addresses.pop, storage._cdata).atexit = False
    return addresses[storage._cdata]


def empty_weight(file, info):
    return torch.empty(info["shape"], dtype=getattr(torch, info["dtype"]))


def module_to(module, device):
    """Module.to: its children first, then its parameters, then its buffers; each comes before its old one goes. A tied parameter
    moves once, for all that have it."""
    device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    owners = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            owners.setdefault(id(parameter), []).append((owner, name))

    def move(part):
        for child in part.children():
            move(child)
        for name, parameter in part._parameters.items():
            if parameter is not None and parameter.device != device:
                new = torch.nn.Parameter(parameter.detach().to(device), parameter.requires_grad)
                for owner, own_name in places[part, name]:
                    owner._parameters[own_name] = new
            parameter = None  # else it would stay until the next one is there
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = buffer.to(device)
    places = {place: group for group in owners.values() for place in group}
    parameter = None
    move(module)
    return module


def install():
    torch.nn.Module.to = module_to
    modeling.type = type_of
    FakeTensor.data_ptr = address_of
    modeling.clear_device_cache = lambda *arguments, **keywords: None
    offload.load_offloaded_weight = empty_weight
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
