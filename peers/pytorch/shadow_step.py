"""What a training program does around its passes: where it calls zero_grad(), what that makes of a gradient, whether it
clips gradients, scales its loss, divides what it accumulates. The defaults are those of the cases that say nothing."""
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import peer_models


class AskingNobody(torch.amp.GradScaler):
    """On meta there is no answer to "is any gradient infinite?", whose answer costs no byte: none is."""

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        return optimizer.step(*args, **kwargs)


def make_scaler(case, device):
    """torch.amp.GradScaler, or None. On meta it is one of the CPU, which follows the loss to its device."""
    if case.get("grad_scaler") != "torch":
        return None
    return AskingNobody("cpu") if device == "meta" else torch.amp.GradScaler(device)


DECAY = 0.999


def make_average(case, model):
    """What torch's and timm's own classes make of a model, or None."""
    kind = case.get("weight_average")
    if kind == "averaged-model":
        return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(DECAY))
    if kind in ("timm-ema", "timm-ema-v2"):
        return make_timm_average(kind, model)
    return None


def make_timm_average(kind, model):
    from timm.utils import model_ema
    if kind == "timm-ema-v2":
        return model_ema.ModelEmaV2(model, decay=DECAY)
    if next(model.parameters()).device.type != "meta":
        return model_ema.ModelEmaV3(model, decay=DECAY)
    generator, model_ema.torch.Generator = torch.Generator, lambda device: generator("cpu")  # meta has none
    try:
        average = model_ema.ModelEmaV3(model, decay=DECAY)
    finally:
        model_ema.torch.Generator = generator
    average._sr_generator = None
    return average


class StepProgram:
    """One case's habits. The caller runs the passes and calls these in between."""

    def __init__(self, case, optimizer, ledger, model=None, average=None):
        self.model, self.average = model, average
        self.place = case.get("zero_grad", "after-step")
        self.set_to_none = case.get("zero_grad_to", "none") == "none"
        self.clip = case.get("clip_grad") or "none"
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.optimizer, self.ledger = optimizer, ledger
        self.scaler = make_scaler(case, self.parameters[0].device.type)
        self.parts = case["accumulate"] if case.get("accumulated_loss") == "divided" else 1
        self.in_backward = bool(case.get("optimizer_in_backward"))
        if self.in_backward:
            self._hook(case["optimizer"])

    def _hook(self, name):
        """As torchtune's create_optim_in_bwd_wrapper and register_optim_in_bwd_hooks do."""
        optimizers = {p: peer_models.make_optimizer(name, [p]) for p in self.parameters}

        def step_and_drop(parameter):
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()
        for parameter in self.parameters:
            parameter.register_post_accumulate_grad_hook(step_and_drop)

    def _zero_grad(self, place):
        if self.in_backward:
            return
        if place == self.place:
            self.ledger.mark("zero_grad")
            self.optimizer.zero_grad(set_to_none=self.set_to_none)

    def before_forward(self):
        self._zero_grad("before-forward")

    def before_backward(self):
        self._zero_grad("before-backward")

    def backward(self, loss):
        """As accelerate's Accelerator.backward: the caller's name keeps the loss that is not divided."""
        if self.parts > 1:
            loss = loss / self.parts
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

    def step(self):
        if not self.in_backward:
            self.optimizer_step()
        if self.average is not None:
            update = getattr(self.average, "update_parameters", None) or self.average.update
            update(self.model)

    def optimizer_step(self):
        if self.scaler is not None and self.clip != "none":
            self.scaler.unscale_(self.optimizer)
        if self.clip != "none":
            torch.nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=None if self.clip == "foreach" else False)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def after_step(self):
        self._zero_grad("after-step")
