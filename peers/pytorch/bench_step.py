#!/usr/bin/env python3
"""One training step of a real model for each line on standard input; what it took, as one JSON line.

    printf '\\n\\n\\n' | python3 peers/pytorch/bench_step.py --batch 8 --seq 128 --threads 2
    {"torch": "2.11.0", "transformers": "5.17.0", "torchvision": "0.26.0", "device": "cpu", "threads": 2}
    {"forward_seconds": ..., "backward_seconds": ..., "step_seconds": ..., "seconds": ..., "loss": ...}

The first line comes before the first step; where no step can be made it is {"unavailable": REASON}, and the exit status
is 77. A step is forward, backward, optimizer and the release of the gradients, of the model that peer_models.py builds.
`make bench` puts such steps between its own, so that what else the machine does falls on both.
"""
import argparse
import json
import os
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="bert-base-cased", help="a name of peer_models.py")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--optimizer", default="adamw-fused")
    parser.add_argument("--attention", default="sdpa")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the CPU")
    return parser.parse_args()


def answer(**fields):
    print(json.dumps(fields), flush=True)


class Step:
    """A model that trains on the same inputs again and again."""

    def __init__(self, options):
        import torch
        import peer_models
        import truth_measure
        torch.set_num_threads(options.threads)
        self.torch, self.forward = torch, peer_models.forward
        self.device = torch.device(options.device)
        self.case = {"mode": "train", "head": "lm", "checkpointing": False, **vars(options)}
        self.family, self.model, config = peer_models.build(self.case, "cpu")
        self.model = self.model.to(self.device).train()
        truth_measure.randomise(self.model)
        self.inputs, self.labels = truth_measure.make_inputs(self.case, self.family, config, self.device)
        self.optimizer = peer_models.make_optimizer(options.optimizer, list(self.model.parameters()))
        self.versions = peer_models.library_versions()

    def now(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def run(self):
        amp = self.case["precision"].startswith("amp")
        times = [self.now()]
        with self.torch.autocast(self.device.type, dtype=self.torch.bfloat16, enabled=amp):
            loss = self.forward(self.case, self.family, self.model, self.inputs, self.labels)
        times.append(self.now())
        loss.backward()
        times.append(self.now())
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        times.append(self.now())
        names = ("forward_seconds", "backward_seconds", "step_seconds")
        return {**{name: end - begin for name, begin, end in zip(names, times, times[1:])},
                "seconds": times[-1] - times[0], "loss": loss.item()}


def main():
    options = arguments()
    try:
        step = Step(options)
    except (ImportError, KeyError, RuntimeError) as error:
        answer(unavailable=f"{type(error).__name__}: {error}")
        return 77
    answer(**step.versions, device=options.device, threads=step.torch.get_num_threads())
    for _ in sys.stdin:
        answer(**step.run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
