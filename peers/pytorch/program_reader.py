"""Reads a meter inside any training program: at the begin and end of every backward pass and optimizer step.

The program is left as it is. torch.autograd.backward, through which all programs go, is wrapped; optimizers tell
themselves when they step (hooks of torch.optim that hold for all of them). A stage is what lies between two such points:

    forward    from the end of the last step to the begin of the backward pass: the next batch, the forward pass,
               whatever the program does in between, zero_grad() included
    backward   the backward pass
    clip       from its end to the begin of the step, where a program clips gradients; it has no such stage if the
               optimizer itself calls for the passes (a closure)
    step       optimizer.step()

Of several micro-batches the last one is read. `whole` has the highest figures of all steps.
"""
import torch

STEADY_STEP = 2  # the third: optimizer states exist, segments have grown


class Reader:
    """rows: stage -> figures. meter: truth_meter.py's, or program_meta.LedgerMeter. tell(rows) is called after each."""

    def __init__(self, meter, tell):
        self.meter = meter
        self.stage_begins = getattr(meter, "stage_begins", lambda stage: None)
        self.tell = tell
        self.rows = {}
        self.turn = 0
        self.last = None  # the event that the current stage began with
        self.depth = 0  # of backward passes; checkpoints that re-enter autograd run one inside another

    def read(self, name, **more):
        """A stage of the caller's own: everything since the last boundary."""
        row = {**self.meter.counters(name), **more}
        self.rows[name] = row
        self.raise_whole(row)
        self.tell(self.rows)
        self.meter.reset_peaks()

    def raise_whole(self, row):
        whole = self.rows.setdefault("whole", {})
        for key, value in row.items():
            if value is not None and (key.endswith("_peak") or key in ("device_used_bytes", "process_used_bytes")):
                whole[key] = max(whole.get(key, 0), value)

    def boundary(self, stage):
        """The end of a stage of a step."""
        row = self.meter.counters(stage)
        self.raise_whole(row)
        if self.turn in (0, STEADY_STEP):
            self.rows[stage if self.turn else stage + "_first"] = row
            self.tell(self.rows)
        self.meter.reset_peaks()

    def backward_begins(self):
        self.depth += 1
        if self.depth == 1:
            self.boundary("forward")
            self.stage_begins("backward")

    def backward_ends(self):
        self.depth -= 1
        if self.depth == 0:
            self.boundary("backward")
            self.last = "backward"
            self.stage_begins("clip")

    def step_begins(self, optimizer, arguments, keywords):
        if self.last == "backward":
            self.boundary("clip")
        self.last = "step"
        self.stage_begins("step")

    def step_ends(self, optimizer, arguments, keywords):
        self.boundary("step")
        self.turn += 1
        self.last = "step_end"
        self.stage_begins("forward")

    def __enter__(self):
        from torch.optim import optimizer
        self.handles = [optimizer.register_optimizer_step_pre_hook(self.step_begins),
                        optimizer.register_optimizer_step_post_hook(self.step_ends)]
        self.original = original = torch.autograd.backward

        def backward(*arguments, **keywords):
            self.backward_begins()
            try:
                return original(*arguments, **keywords)
            finally:
                self.backward_ends()

        torch.autograd.backward = backward
        self.meter.reset_peaks()
        self.stage_begins("forward")
        return self

    def __exit__(self, *error):
        torch.autograd.backward = self.original
        for handle in self.handles:
            handle.remove()
