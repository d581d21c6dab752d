"""Programs that bring models of their own: torchtune's recipe, litgpt's fit(), torchtitan's train_step().

The program's own code runs: its model, its loss, its loop. What it asks of files, networks and several processes is answered
here, and nothing else. Each function gets a case, makes the model on `device`, shows it to `adopt`, and trains under `reader`.
"""
import contextlib
import functools
import importlib.util
import os
import tempfile
import types

import torch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "amp-bfloat16": torch.float32}


def token_batches(case, vocab, names):
    """As a data loader brings them: ids and labels in the host's memory."""
    for _ in range(case["steps"]):
        ids = torch.randint(0, vocab, (case["batch"], case["seq"]))
        yield dict(zip(names, (ids, ids.clone())))


@contextlib.contextmanager
def made_in(dtype, device):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


class Quiet:
    """Stands for a profiler, a logger, a checkpointer, a tokenizer: takes every call and does nothing."""

    def __init__(self, *arguments):
        pass

    def __getattr__(self, name):
        return lambda *arguments, **keywords: None


class Batches(list):
    """A data loader whose sampler has nothing to shuffle."""
    sampler = Quiet()


def torchtune_recipe():
    """The recipe's file; recipes are no package."""
    import torchtune
    folder = os.path.join(os.path.dirname(os.path.dirname(torchtune.__file__)), "recipes")
    spec = importlib.util.spec_from_file_location("recipe", os.path.join(folder, "full_finetune_single_device.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FullFinetuneRecipeSingleDevice


def torchtune_model(name):
    """The model by its own name, or built as tiny/NAME of this folder is."""
    from torchtune.models import llama3_2, qwen2, qwen2_5
    sizes = {"vocab_size": 96, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "embed_dim": 32, "intermediate_dim": 64,
             "max_seq_len": 64}
    makers = {"llama-3.2-1b": llama3_2.llama3_2_1b, "qwen2.5-0.5b": qwen2_5.qwen2_5_0_5b,
              "tiny/llama-gqa": lambda: llama3_2._component_builders.llama3_2(tie_word_embeddings=False, **sizes),
              "tiny/qwen2": lambda: qwen2._component_builders.qwen2(tie_word_embeddings=True, **sizes)}
    return makers[name]()


def torchtune(case, device, adopt, reader):
    """tune run full_finetune_single_device, with its defaults but for torch.optim.AdamW."""
    from torchtune import modules, training
    dtype = DTYPES[case["precision"]]
    with made_in(dtype, device):
        model = torchtune_model(case["model"])
    for module in model.modules():
        if hasattr(module, "build_rope_cache") and not hasattr(module, "theta"):  # which meta has left out
            module.register_buffer("theta", torch.empty(module.dim // 2, device=device), persistent=False)
            module.build_rope_cache(module.max_seq_len)
            module.is_cache_built = True
    adopt(model)
    if case["checkpointing"]:
        training.set_activation_checkpointing(model, auto_wrap_policy={modules.TransformerSelfAttentionLayer})
    recipe = torchtune_recipe()
    run = recipe.__new__(recipe)
    chunks = case.get("loss") != "composed"
    loss = modules.loss.CEWithChunkedOutputLoss() if chunks else torch.nn.CrossEntropyLoss()
    if chunks:
        model.set_num_output_chunks(loss.num_output_chunks)
    vars(run).update(
        _model=model, _loss_fn=loss, _optimizer=torch.optim.AdamW(model.parameters(), lr=2e-5), _device=torch.device(device),
        _dataloader=Batches(token_batches(case, model.tok_embeddings.weight.shape[0], ("tokens", "labels"))),
        ignore_labels_cache=torch.full((case["batch"], 1), loss.ignore_index, device=device),
        activations_handling_ctx=contextlib.nullcontext(), epochs_run=0, total_epochs=1, _steps_per_epoch=case["steps"],
        max_steps_per_epoch=case["steps"], _gradient_accumulation_steps=1, global_step=0, _log_every_n_steps=10 ** 6,
        _compile=False, _optimizer_in_bwd=False, _clip_grad_norm=None, _lr_scheduler=None, _log_peak_memory_stats=False,
        profiler_profile_memory=False, _profiler=Quiet(), _metric_logger=Quiet(), save_checkpoint=lambda epoch: None)
    model.train()
    with reader:
        run.train()


class Fabric:
    """Lightning's, on one device."""

    def __init__(self, case, device):
        self.device, self.world_size, self.global_rank = torch.device(device), 1, 0
        self.amp = case["precision"].startswith("amp")

    def __getattr__(self, name):
        return lambda *arguments, **keywords: None

    def no_backward_sync(self, model, enabled=True):
        return contextlib.nullcontext()

    def backward(self, loss):
        loss.backward()

    def all_reduce(self, value, reduce_op="mean"):
        return torch.as_tensor(0)


def litgpt_config(name, settings):
    """The configuration by litgpt's own name, or that of tiny/NAME of this folder."""
    from litgpt.config import Config
    from litgpt.lora import Config as AdaptedConfig
    kind = AdaptedConfig if settings else Config
    names = {"llama-3.2-1b": "Llama-3.2-1B", "qwen2.5-0.5b": "Qwen2.5-0.5B"}
    if name in names:
        return kind.from_name(names[name], **settings)
    return kind(block_size=512, vocab_size=96, padded_vocab_size=96, n_layer=2, n_head=4, n_query_groups=2, n_embd=32,
                head_size=8, rotary_percentage=1.0, parallel_residual=False, bias=False, attn_bias=name == "tiny/qwen2",
                norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", intermediate_size=64, **settings)


def litgpt(case, device, adopt, reader):
    """litgpt finetune_full or finetune_lora: fit() with its defaults, bf16-true."""
    import litgpt.lora
    import litgpt.model
    from litgpt.args import EvalArgs, TrainArgs
    from litgpt.finetune import full, lora
    rank = case.get("lora_rank")
    settings = {"lora_r": rank, "lora_alpha": 16, "lora_dropout": case.get("lora_dropout", 0.05), "lora_query": True,
                "lora_value": True} if rank else {}
    config = litgpt_config(case["model"], settings)
    script = lora if rank else full
    with made_in(DTYPES[case["precision"]], device):
        model = (litgpt.lora if rank else litgpt.model).GPT(config)
    if rank:
        litgpt.lora.mark_only_lora_as_trainable(model)
    model.max_seq_length = case["seq"]
    adopt(model)
    model.train()
    fabric = Fabric(case, device)

    def moved():
        for batch in token_batches(case, config.vocab_size, ("input_ids", "labels")):
            yield {**{name: value.to(device) for name, value in batch.items()},
                   "token_counts": dict.fromkeys(("raw", "raw_plus_prompt_template"), torch.tensor(1))}

    class Loader:
        dataset = []

        def __iter__(self):
            return moved()

    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    state = {"model": model, "optimizer": optimizer, "iter_num": 0, "step_count": 0,
             "scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)}
    if case.get("loss") == "composed":
        script.chunked_cross_entropy = functools.partial(script.chunked_cross_entropy, chunk_size=0)
    script.Tokenizer, script.validate = Quiet, lambda *arguments, **keywords: torch.zeros(())
    script.get_longest_seq_length = lambda data: (case["seq"], 0)
    train = TrainArgs(save_interval=None, log_interval=10 ** 6, global_batch_size=case["batch"],
                      micro_batch_size=case["batch"], epochs=1, max_steps=case["steps"], max_seq_length=case["seq"])
    with reader, tempfile.TemporaryDirectory() as folder:
        if rank:
            lora.fit(fabric, model, optimizer, state["scheduler"], Loader(), Loader(), 1, folder, folder, train,
                     EvalArgs(interval=10 ** 6), None)
        else:
            full.fit(fabric, state, Loader(), Loader(), 1, False, folder, folder, train, EvalArgs(interval=10 ** 6), None)


def torchtitan(case, device, adopt, reader):
    """train_step() of its Trainer on one device: float32 weights under autocast, clipping, fused AdamW; no compiler."""
    from torchtitan.components.loss import cross_entropy_loss
    from torchtitan.models.llama3 import Transformer, TransformerModelArgs
    from torchtitan.train import Trainer
    sizes = {"llama-3.2-1b": {"dim": 2048, "n_layers": 16, "n_heads": 32, "n_kv_heads": 8, "ffn_dim_multiplier": 1.5,
                              "vocab_size": 128256, "rope_theta": 500000}}
    with made_in(DTYPES[case["precision"]], device):
        model = Transformer(TransformerModelArgs(max_seq_len=case["seq"], **sizes[case["model"]]))
    adopt(model)
    if case["checkpointing"]:
        from torchtitan.config.job_config import ActivationCheckpoint
        from torchtitan.distributed.activation_checkpoint import apply_ac
        apply_ac(model, ActivationCheckpoint(mode="full"))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    dimensions = types.SimpleNamespace(pp_enabled=False, dp_enabled=False, dp_cp_enabled=False, cp_enabled=False,
                                       ep_enabled=False, get_optional_mesh=lambda name: None)
    amp = torch.autocast(device, dtype=torch.bfloat16) if case["precision"].startswith("amp") else contextlib.nullcontext()
    run = types.SimpleNamespace(
        model_parts=[model], parallel_dims=dimensions, optimizers=optimizer, device=torch.device(device), step=1,
        lr_schedulers=types.SimpleNamespace(step=lambda: None, schedulers=[types.SimpleNamespace(get_last_lr=lambda: [0.0])]),
        gradient_accumulation_steps=1, train_context=contextlib.nullcontext, maybe_enable_amp=amp,
        loss_fn=cross_entropy_loss, checkpointer=Quiet(), model_args=model.model_args, tokenizer=None,
        metrics_processor=types.SimpleNamespace(should_log=lambda step: False),
        job_config=types.SimpleNamespace(training=types.SimpleNamespace(max_norm=1.0)))
    for name in ("post_dataloading_process", "forward_backward_step"):
        setattr(run, name, types.MethodType(getattr(Trainer, name), run))
    rows = ((dict(input=batch["input"]), batch["labels"])
            for batch in token_batches(case, model.model_args.vocab_size, ("input", "labels")))
    with reader:
        for _ in range(case["steps"]):
            Trainer.train_step(run, rows)


# What must be imported before the device is pretended.
IMPORTS = {"torchtune": "torchtune", "litgpt": "litgpt.finetune.lora", "torchtitan": "torchtitan.train"}
PROGRAMS = {"torchtune": torchtune, "litgpt": litgpt, "torchtitan": torchtitan}
