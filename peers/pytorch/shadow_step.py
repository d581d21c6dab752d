"""What a training program does around its passes: where it calls zero_grad(), what that makes of a gradient, whether it
clips gradients. The defaults are those of the cases that say nothing."""
import torch

import peer_models


class StepProgram:
    """One case's habits. The caller runs the passes and calls these in between."""

    def __init__(self, case, optimizer, ledger):
        self.place = case.get("zero_grad", "after-step")
        self.set_to_none = case.get("zero_grad_to", "none") == "none"
        self.clip = case.get("clip_grad", "none")
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.optimizer, self.ledger = optimizer, ledger
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

    def step(self):
        if self.in_backward:
            return
        if self.clip != "none":
            torch.nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=None if self.clip == "foreach" else False)
        self.optimizer.step()

    def after_step(self):
        self._zero_grad("after-step")
