"""Generation on the meta device: transformers' own generate(), with the questions it asks about values answered.

The answers are those of a run that ends by its length alone: no padding, no end-of-sequence token, every beam open to
the end. What the loop allocates is its own affair; only the reading of flags and lengths is replaced.
"""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.generation import utils

aten = torch.ops.aten


class Lengths(TorchDispatchMode):
    """Answers with the number of new tokens where the loop asks how long the best sequence has become."""

    def __init__(self, new_tokens):
        super().__init__()
        self.new_tokens = new_tokens

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default and args[0].is_meta and args[0].dtype == torch.int64:
            return self.new_tokens
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def replaced(owner, name, new):
    old = getattr(owner, name)
    setattr(owner, name, new)
    try:
        yield old
    finally:
        setattr(owner, name, old)


def stored(states):
    """The tensors behind quantised states: codes and a scale (fp8), or quanto's packed codes, scales and shifts."""
    return list(states) if isinstance(states, tuple) else [states._data._data, states._scale, states._shift]


def cache_bytes(cache):
    """Bytes of the keys and values that a cache holds; beside an encoder those of both attentions."""
    if hasattr(cache, "cross_attention_cache"):
        return cache_bytes(cache.self_attention_cache) + cache_bytes(cache.cross_attention_cache)
    kept = [tensor for layer in cache.layers if layer.is_initialized for tensor in (layer.keys, layer.values)]
    for layer in cache.layers:
        if getattr(layer, "_quantized_keys", None) is not None:
            kept += stored(layer._quantized_keys) + stored(layer._quantized_values)
    return sum({tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in kept}.values())


QUANTO = {}  # name of an operator of quanto: the Python that it registers


def quanto_load():
    """Imports quanto and notes the Python behind its operators, which runs where no dispatch mode sees inside."""
    impl = torch.library.impl

    def noting_impl(name, types, *more, **keywords):
        register = impl(name, types, *more, **keywords)

        def noting_register(function):
            QUANTO.setdefault(name, function)
            return register(function)
        return noting_register

    with replaced(torch.library, "impl", noting_impl):
        import optimum.quanto  # noqa: F401


def quantized_cache(dtype):
    """Settings of generate()."""
    if dtype != "fp8":
        quanto_load()
    config = {"backend": "fp8"} if dtype == "fp8" else {"backend": "quanto", "nbits": int(dtype[3:])}
    return {"cache_implementation": "quantized", "cache_config": config}


def quanto_kernel_of(func):
    """What a ledger runs instead of an operator of quanto, to see inside it: its Python where a GPU runs that too;
    unpacking is one kernel there, with one output (library/extensions/cuda/unpack.cu)."""
    if func._schema.name == "quanto::unpack":
        return lambda packed, bits: packed.new_empty([packed.shape[0] * (8 // bits), *packed.shape[1:]])
    return QUANTO.get(func._schema.name)


def generate(case, model, inputs, stages, precision):
    """Runs one generation under the context `precision`; (what the caller receives, the largest size of the cache, of a
    quantised one the last). Stages: `forward` is the prefill and what comes before it, `generate` all the rest."""
    mixin = utils.GenerationMixin
    settings = {"max_new_tokens": case["new_tokens"], "do_sample": False, "use_cache": True, "pad_token_id": 0,
                "eos_token_id": None, "num_beams": case.get("beams", 1)}
    if case.get("cache") == "static":
        settings["cache_implementation"] = "static"
    if case.get("cache_dtype"):
        settings.update(quantized_cache(case["cache_dtype"]))
    if case.get("logits") == "all":
        settings["logits_to_keep"] = 0
    model.generation_config.eos_token_id = None
    steps, largest = [0], [0]
    prefill, update = mixin._prefill, mixin._update_model_kwargs_for_generation
    open_beams = mixin._beam_search_has_unfinished_sequences

    def open_until_length(*arguments):
        open_beams(*arguments)
        return steps[0] < case["new_tokens"]

    def counted_update(self, outputs, model_kwargs, *more, **keywords):
        steps[0] += 1
        size = cache_bytes(outputs.past_key_values)
        largest[0] = size if case.get("cache_dtype") else max(largest[0], size)
        return update(self, outputs, model_kwargs, *more, **keywords)

    def stop_at_length(self, unfinished, tokens, length):
        bool(unfinished.max() == 0)
        return steps[0] == case["new_tokens"]

    forward = contextlib.ExitStack()

    def staged_prefill(self, *arguments, **keywords):
        outputs = prefill(self, *arguments, **keywords)
        forward.close()
        forward.enter_context(stages.stage("generate"))
        return outputs

    with contextlib.ExitStack() as changes:
        changes.enter_context(Lengths(case["new_tokens"]))
        changes.enter_context(replaced(mixin, "_update_model_kwargs_for_generation", counted_update))
        changes.enter_context(replaced(mixin, "_beam_search_has_unfinished_sequences", staticmethod(open_until_length)))
        changes.enter_context(replaced(utils.StopCheck, "__call__", stop_at_length))
        changes.enter_context(replaced(mixin, "_prefill", staged_prefill))
        mask = torch.ones_like(inputs)
        with torch.no_grad(), forward, precision:
            forward.enter_context(stages.stage("forward"))
            out = model.generate(inputs, attention_mask=mask, **settings)
    return out, largest[0]
