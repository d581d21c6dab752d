#!/usr/bin/env python3
"""Is the shadow honest? Four checks against things that the shadow does not control; exits 1 when one fails.

1. Allocations: the ledger on CPU tensors, against the CPU allocator's own events (torch.profiler, no dispatch mode),
   one by one and in order, for a training run of each tiny model. Memory that one kernel takes and gives back itself
   is left out on the profiler's side: no ledger above the kernels can see it.
2. Autocast: the emulation on meta against torch's own autocast on fake CUDA tensors: same operators, same dtypes.
3. Saved tensors: the same bytes of the same dtypes whether the tiny models run on meta or really compute on the CPU.
4. ResNet-50 at batch 8: the known 687,733,060 saved bytes, of which 212,480 are running statistics.
"""
import contextlib
import sys

import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import peer_models
from shadow_autocast import CudaAutocast
from shadow_cases import TINY, case_of
from shadow_device import compute_capability_90
from shadow_ledger import StorageLedger, exact_lifetimes
from shadow_truth import count_saved

STEPS = 2
RANDOM_STATE_BYTES = 5056  # checkpointing notes the host's generator, on the host
SCALAR_BYTES = 8  # Python numbers become CPU tensors on their way into an operator: no device memory, left out


def train_steps(case, family, model, optimizer, inputs, labels):
    for _ in range(STEPS):
        loss = peer_models.forward(case, family, model, inputs, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def work(case, family, model, optimizer, inputs, labels):
    if case["mode"] == "train":
        return train_steps(case, family, model, optimizer, inputs, labels)
    model.generation_config.eos_token_id = None
    cache = {"cache_implementation": "static"} if case.get("cache") == "static" else {}
    with torch.no_grad():
        return model.generate(inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=case["new_tokens"],
                              do_sample=False, num_beams=case.get("beams", 1), use_cache=True, pad_token_id=0,
                              disable_compile=True, **cache)


def prepare(case):
    family, model, config = peer_models.build(case, "cpu")
    model.train(case["mode"] == "train")
    optimizer = peer_models.make_optimizer(case["optimizer"], list(model.parameters())) if case["optimizer"] else None
    return family, model, optimizer, *peer_models.make_inputs(case, family, config, "cpu")


def ledger_sizes(case):
    """Rows [identity, signed size] in order, +taken and -given back, and the names of the operators that were called."""
    family, model, optimizer, inputs, labels = prepare(case)
    ledger = StorageLedger("cpu", keep_events=True)
    for tensor in [*model.parameters(), *model.buffers(), inputs, labels]:
        ledger.adopt(tensor, "existing")
    start = len(ledger.events)
    with ledger:
        work(case, family, model, optimizer, inputs, labels)
    size_of = {event[1]: event[2] for event in ledger.events if event[0] == "alloc"}
    rows = [[event[1], event[2] if event[0] == "alloc" else -size_of[event[1]]] for event in ledger.events[start:]]
    return [row for row in rows if abs(row[1]) > SCALAR_BYTES], ledger.operators


def profiler_sizes(case, operators):
    """The same from the CPU allocator, without what one operator of the ledger takes and gives back itself."""
    family, model, optimizer, inputs, labels = prepare(case)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work(case, family, model, optimizer, inputs, labels)
    rows, open_rows = [], {}

    def walk(node, owner):
        name = node.name
        if owner is None and name.startswith("aten::") and name[6:] in operators:
            owner = id(node)
        if node.typed[0] == torch._C._profiler._EventType.Allocation:
            fields = node.typed[1]
            rows.append([node.start_time_ns, fields.ptr, fields.alloc_size, owner])
        for child in node.children:
            walk(child, owner)

    for root in profile.profiler.kineto_results.experimental_event_tree():
        walk(root, None)
    rows.sort(key=lambda row: row[0])
    drop = set()
    for index, (_, pointer, size, owner) in enumerate(rows):
        if size > 0:
            open_rows[pointer] = index
        else:
            born = open_rows.pop(pointer, None)
            if born is None:
                drop.add(index)  # older than the profile
            elif owner is not None and rows[born][3] == owner:
                drop.update((born, index))
    return [row[1:3] for index, row in enumerate(rows)
            if index not in drop and abs(row[2]) > SCALAR_BYTES and abs(row[2]) != RANDOM_STATE_BYTES]


def without_neighbour_order(sizes):
    """Allocations with no release between them, sorted: which output a kernel takes first differs between devices."""
    out, run = [], []
    for size in sizes + [0]:
        if size > 0:
            run.append(size)
        else:
            out += sorted(run) + [size]
            run = []
    return out


def without_short_lived(rows):
    """Without what is given back before anything else is taken.

    Checkpointing stops a recomputation by an exception inside the last operator: its unneeded output dies there. The
    profiler's side counts that as the operator's own affair, so here both sides leave such outputs out.
    """
    born, drop, run_start = {}, set(), 0
    for index, (identity, size) in enumerate(rows):
        if size > 0:
            if index and rows[index - 1][1] < 0:
                run_start = index
            born[identity] = index
        elif born.get(identity, -1) >= run_start:
            drop.update((born[identity], index))
    return [row for index, row in enumerate(rows) if index not in drop]


def check_allocations():
    failures = 0
    plain = [(model, "adam-foreach", {}) for model in TINY]
    others = [("tiny/bert-dropout", "sgd-momentum", {"checkpointing": True}),
              ("tiny/gpt2-dropout", "adam-single", {"checkpointing": True}),
              ("tiny/llama", "adamw-foreach", {"checkpointing": True}),
              ("tiny/gpt2-dropout", "adamw-foreach", {"use_cache": True})]
    trained = [case_of(model, "train", "float32", 2, None if "vit" in model else 8, "eager", optimizer, **more)
               for model, optimizer, more in plain + others]
    generated = [case_of(model, "generate", "float32", 2, 8, "eager", new_tokens=4, **more)
                 for model in ("tiny/gpt2", "tiny/llama-gqa") for more in ({}, {"cache": "static"}, {"beams": 3})]
    for case in trained + generated:
        with compute_capability_90(answers=False), exact_lifetimes():
            ours, operators = ledger_sizes(case)
            theirs = profiler_sizes(case, operators)
        if case["checkpointing"]:
            ours, theirs = without_short_lived(ours), without_short_lived(theirs)
        ours, theirs = [row[1] for row in ours], [row[1] for row in theirs]
        same, close = ours == theirs, without_neighbour_order(ours) == without_neighbour_order(theirs)
        verdict = "identical" if same else "identical but for the order within an operator" if close else "DIFFERENT"
        print(f"allocations {case['id']}: {len(ours)} events, {verdict}")
        if not close:
            failures += 1
            place = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            near = slice(max(place - 4, 0), place + 6)
            print("  first difference at", place, "of", len(theirs), ours[near], theirs[near])
    return failures


class Signature(TorchDispatchMode):
    """The operators that made something, with the dtypes of what they made."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            return True  # see InputValues
        out = func(*args, **(kwargs or {}))
        name = func._schema.name if hasattr(func, "_schema") else str(func)
        if not name.startswith("prim::") and name != "aten::detach":
            self.rows.append((name, *[str(t.dtype) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]))
        return out


@contextlib.contextmanager
def untraced_fakes():
    """Fake CUDA tensors that transformers does not take for a trace: it would build masks that eager runs skip."""
    from transformers import masking_utils
    before, masking_utils.is_tracing = masking_utils.is_tracing, lambda *tensors: False
    try:
        with FakeTensorMode():
            yield
    finally:
        masking_utils.is_tracing = before


@contextlib.contextmanager
def fake_cuda_autocast(dtype):
    """torch's own autocast; torch.autocast() would refuse because there is no GPU."""
    before = torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", dtype)
    torch.autocast_increment_nesting()
    CudaAutocast.active = CudaAutocast(dtype)  # for the operators that shadow_device.py replaces
    try:
        yield
    finally:
        CudaAutocast.active = None
        torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_dtype("cuda", before)


def check_autocast():
    failures = 0
    for model in TINY + ("resnet18", "resnet50"):
        for attention in ("sdpa", "eager"):
            image = "vit" in model or "resnet" in model
            case = case_of(model, "train", "amp-bfloat16", 2, None if image else 8, attention, "adamw-fused")
            rows = []
            for device, autocast, tensors in (("meta", CudaAutocast, contextlib.nullcontext()),
                                              ("cuda", fake_cuda_autocast, untraced_fakes())):
                with compute_capability_90(), tensors:
                    family, built, config = peer_models.build(case, device)
                    built.train()
                    inputs, labels = peer_models.make_inputs(case, family, config, device)
                    with Signature() as signature, autocast(torch.bfloat16):
                        peer_models.forward(case, family, built, inputs, labels)
                rows.append(signature.rows)
            same = rows[0] == rows[1]
            print(f"autocast {model} {attention}: {len(rows[0])} operators, {'identical' if same else 'DIFFERENT'}")
            if not same:
                failures += 1
                place = next((i for i, (a, b) in enumerate(zip(*rows)) if a != b), min(map(len, rows)))
                near = slice(max(place - 2, 0), place + 3)
                print("  first difference at", place, rows[0][near], rows[1][near])
    return failures


def check_saved():
    failures = 0
    for model in TINY:
        case = case_of(model, "train", "float32", 2, None if "vit" in model else 8, "eager", "adam-foreach")
        with compute_capability_90():
            symbolic = count_saved(case, "meta")
        with compute_capability_90(answers=False):
            computed = count_saved(case, "cpu")
        same = symbolic == computed
        print(f"saved {model}: {symbolic[0]['activations']} bytes, {'identical' if same else f'DIFFERENT {computed}'}")
        failures += not same
    return failures


def check_resnet50():
    with compute_capability_90():
        kinds, _ = count_saved(case_of("resnet50", "train", "float32", 8, optimizer="adam-foreach"))
    total = kinds["activations"] + kinds["inputs"]
    print(f"resnet50 batch 8: {total} saved, {kinds['buffers']} of running statistics")
    return int((total, total + kinds["buffers"]) != (687520580, 687733060))


def main():
    failures = check_resnet50() + check_saved() + check_autocast() + check_allocations()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
