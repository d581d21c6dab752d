"""One case on one device: load, infer, generate or train, with the meter read at every stage.

The loop is what users write: no ledger, nothing of ours between the model and the allocator but readings of its counters.
The caller gives each case a fresh process.
"""
import contextlib
import gc
import time

import torch

import peer_models
from shadow_step import StepProgram, make_average

PASSES = 6  # of inference and of training; the last three are timed
STEADY_INFERENCE = PASSES - 1
STEADY_STEP = 2  # the third: optimizer states exist, segments have grown
WITHOUT_VALUES = ("normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_",
                  "xavier_uniform_")


@contextlib.contextmanager
def no_random_init():
    """Random numbers for billions of weights would take longer than what is measured; their values come later.

    transformers keeps references to the functions of torch.nn.init, so what it calls is stopped at Tensor's methods.
    """
    saved = [(owner, name, getattr(owner, name)) for owner in (torch.nn.init, torch.Tensor) for name in WITHOUT_VALUES
             if hasattr(owner, name)]
    for owner, name, _ in saved:
        setattr(owner, name, lambda tensor, *values, **keywords: tensor)
    try:
        yield
    finally:
        for owner, name, function in saved:
            setattr(owner, name, function)


def randomise(model):
    """In place on the device, after the load was counted: timings on what memory happened to hold would mislead."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.02)
            else:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)


def make_inputs(case, family, config, device):
    """(inputs, labels) with random values; token ids are their own labels, one storage. A padded batch is a dictionary with
    its attention mask; its rows end one after the other, and its labels do not count behind the end."""
    batch = case["batch"]
    if family in peer_models.IMAGES:
        size, classes = peer_models.image_shape(case, config)
        pixels = torch.randn(batch, 3, size, size, device=device, dtype=peer_models.storage_dtype(case))
        return pixels, torch.randint(0, classes, (batch,), device=device)
    ids = torch.randint(0, config.vocab_size, (batch, case["seq"]), device=device)
    if not case.get("padding"):
        return ids, ids
    mask = torch.ones(batch, case["seq"], dtype=torch.int64)
    for row in range(batch):
        mask[row, max(case["seq"] - 1 - row, 1):] = 0
    labels = ids.cpu().masked_fill(mask == 0, -100)  # made on the host, as a data loader does, and brought to the device
    return {"input_ids": ids, "attention_mask": mask.to(device)}, labels.to(device)


def autocast(case, device):
    """The context in which a forward pass runs."""
    dtype = peer_models.autocast_dtype(case)
    return torch.autocast(device, dtype=dtype or torch.bfloat16, enabled=dtype is not None)


def loss_context(case):
    if case.get("loss") != "fused":
        return contextlib.nullcontext()
    from liger_loss import liger_cross_entropy  # here alone: other cases do without that library
    return liger_cross_entropy(launches=True)


class Account:
    """Stages and times of one case; after each stage it tells what there is, so that a later fault loses nothing."""

    def __init__(self, meter, tell):
        self.meter = meter
        self.tell = tell
        self.stages = {}
        self.times_ms = []

    def stage(self, name, **more):
        self.stages[name] = {**self.meter.counters(name), **more}
        self.tell(self.stages, self.times_ms)

    @contextlib.contextmanager
    def one_pass(self):
        self.meter.synchronize()
        start = time.perf_counter()
        yield
        self.meter.synchronize()
        self.times_ms.append(round((time.perf_counter() - start) * 1e3, 3))


def infer(case, family, model, inputs, labels, account):
    model.eval()
    with torch.no_grad():
        for turn in range(PASSES):
            account.meter.reset_peaks()
            with account.one_pass(), autocast(case, account.meter.name):
                out = peer_models.forward(case, family, model, inputs, labels)
            if turn in (0, STEADY_INFERENCE):
                account.stage("forward" if turn else "forward_first")
            del out


def prefill_watch(model, account):
    """The stage `forward` ends with the prefill, where this release of transformers has one to be seen; else it is part of
    the stage `generate`. Nothing is allocated by the watching."""
    prefill = getattr(model, "_prefill", None)
    if prefill is None:
        return

    def watched(*arguments, **keywords):
        outputs = prefill(*arguments, **keywords)
        account.stage("forward")
        account.meter.reset_peaks()
        return outputs

    model._prefill = watched


def generate(case, family, model, inputs, labels, account):
    """Every row to its full length: no token ends it. What generate() returns is alive when the counters are read."""
    model.eval()
    model.generation_config.eos_token_id = None
    settings = {"max_new_tokens": case["new_tokens"], "do_sample": False, "use_cache": True, "pad_token_id": 0,
                "num_beams": case.get("beams", 1), "disable_compile": True}
    if case.get("cache") == "static":
        settings["cache_implementation"] = "static"
    if case.get("logits") == "all":
        settings["logits_to_keep"] = 0
    prefill_watch(model, account)
    account.meter.reset_peaks()
    mask = torch.ones_like(inputs)
    with torch.no_grad(), account.one_pass(), autocast(case, account.meter.name):
        out = model.generate(inputs, attention_mask=mask, **settings)
    account.stage("generate")
    del out


class NoLedger:
    """Where StepProgram says what it does."""

    def mark(self, stage):
        pass


def train(case, family, model, inputs, labels, account):
    """Of several micro-batches the last one's forward and backward passes are read."""
    meter = account.meter
    model.train()
    average = make_average(case, model)
    optimizer = peer_models.make_optimizer(case["optimizer"], [p for p in model.parameters() if p.requires_grad])

    program = StepProgram(case, optimizer, NoLedger(), model, average)

    def read(turn, stage, is_last=True):
        if turn in (0, STEADY_STEP) and is_last:
            account.stage(stage if turn else stage + "_first")

    for turn in range(PASSES):
        with account.one_pass():
            program.before_forward()
            for micro in range(case["accumulate"]):
                is_last = micro == case["accumulate"] - 1
                meter.reset_peaks()
                with autocast(case, meter.name):
                    loss = peer_models.forward(case, family, model, inputs, labels)
                read(turn, "forward", is_last)
                if micro == 0:
                    program.before_backward()
                meter.reset_peaks()
                program.backward(loss)
                read(turn, "backward", is_last)
            meter.reset_peaks()
            program.step()
            read(turn, "step")
            program.after_step()
    account.stage("after", loss_is_finite=bool(torch.isfinite(loss.detach()).item()))


MODES = {"infer": infer, "generate": generate, "train": train}


def measure(case, meter, tell):
    """Calls tell(stages, times_ms) after every stage and at the end."""
    account = Account(meter, tell)
    torch.backends.cuda.matmul.allow_tf32 = bool(case.get("tf32"))
    torch.backends.cudnn.allow_tf32 = bool(case.get("tf32") or case.get("tf32_convolutions"))
    account.stage("context")
    with no_random_init():
        family, model, config = peer_models.build(case, "cpu", checkpointing=None)
    model = model.to(meter.name)
    gc.collect()
    account.stage("load", tensor_count=sum(1 for _ in model.parameters()) + sum(1 for _ in model.buffers()),
                  parameter_count=sum(p.numel() for p in model.parameters()))
    if case["mode"] != "load":
        randomise(model)
        inputs, labels = make_inputs(case, family, config, meter.name)
        with loss_context(case):
            MODES[case["mode"]](case, family, model, inputs, labels, account)
    tell(account.stages, account.times_ms)
