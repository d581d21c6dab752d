"""What a training program does around its passes: where it calls zero_grad() and what that makes of a gradient. The
defaults are those of the cases that say nothing."""


class StepProgram:
    """One case's habits. The caller runs the passes and calls these in between."""

    def __init__(self, case, optimizer, ledger):
        self.place = case.get("zero_grad", "after-step")
        self.set_to_none = case.get("zero_grad_to", "none") == "none"
        self.optimizer, self.ledger = optimizer, ledger

    def _zero_grad(self, place):
        if place == self.place:
            self.ledger.mark("zero_grad")
            self.optimizer.zero_grad(set_to_none=self.set_to_none)

    def before_forward(self):
        self._zero_grad("before-forward")

    def before_backward(self):
        self._zero_grad("before-backward")

    def step(self):
        self.optimizer.step()

    def after_step(self):
        self._zero_grad("after-step")
