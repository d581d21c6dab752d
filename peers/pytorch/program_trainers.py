"""Programs that bring a training loop of their own: transformers' Trainer, Lightning, TRL; and a script around PEFT."""
import tempfile

import torch

import peer_models
from program_loops import make_batches, make_optimizer, plain_loop


class Rows(torch.utils.data.Dataset):
    """Samples in the host's memory, as a tokenised data set gives them."""

    def __init__(self, case, family, config):
        count = case["batch"] * case["accumulate"] * case["steps"]
        self.rows = [{name: value[0] for name, value in row.items()}
                     for row in make_batches({**case, "batch": 1}, family, config, count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def trainer_settings(case, device, folder):
    """What a case says, in the words of TrainingArguments; all else is its default."""
    names = {"adamw-fused": "adamw_torch_fused", "adamw": "adamw_torch", "adafactor": "adafactor", "sgd": "sgd",
             "adam-8bit": "adamw_bnb_8bit", "paged-adamw-8bit": "paged_adamw_8bit",
             "paged-adamw-32bit": "paged_adamw_32bit"}
    settings = {"output_dir": folder, "per_device_train_batch_size": case["batch"],
                "gradient_accumulation_steps": case["accumulate"], "max_steps": case["steps"], "report_to": "none",
                "save_strategy": "no", "disable_tqdm": True, "gradient_checkpointing": case["checkpointing"],
                "bf16": case["precision"] == "amp-bfloat16", "fp16": case["precision"] == "amp-float16"}
    if device == "cpu":
        settings["use_cpu"] = True
    if case["optimizer"] is not None:  # None: the release's own default
        settings["optim"] = names[case["optimizer"]]
    for name in ("label_smoothing_factor", "max_grad_norm", "logging_steps", "eval_steps"):
        if name in case:
            settings[name] = case[name]
    if case["checkpointing"] and case.get("checkpointing_keywords"):
        settings["gradient_checkpointing_kwargs"] = case["checkpointing_keywords"]
    return settings


def hf_trainer(case, family, config, model, reader, device):
    import transformers
    if case.get("lora_rank"):
        model = peer_models.adapt(model, {"lora_targets": "attention", **case})
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(**trainer_settings(case, device, folder))
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Rows(case, family, config),
                                       data_collator=transformers.default_data_collator)
        with reader:
            trainer.train()


def trl_sft(case, family, config, model, reader, device):
    """SFTTrainer needs a tokenizer; the data set is tokenised already, so it needs none."""
    import datasets
    import trl
    rows = Rows(case, family, config).rows
    data = datasets.Dataset.from_dict({"input_ids": [row["input_ids"].tolist() for row in rows]})
    with tempfile.TemporaryDirectory() as folder:
        settings = trainer_settings(case, device, folder)
        arguments = trl.SFTConfig(**settings, max_length=case["seq"])
        trainer = trl.SFTTrainer(model=model, args=arguments, train_dataset=data, processing_class=plain_tokenizer())
        with reader:
            trainer.train()


def plain_tokenizer():
    """One that knows no word but the ones that it must have; nothing is tokenised here."""
    import tokenizers
    import transformers
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2}, unk_token="<unk>"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>",
                                                unk_token="<unk>")


def lightning_on_meta():
    """The strategy of one device, with an accelerator that asks nothing of it."""
    from lightning.pytorch import accelerators, strategies

    class MetaAccelerator(accelerators.CPUAccelerator):
        def setup_device(self, device):
            pass

    return {"strategy": strategies.SingleDeviceStrategy(torch.device("meta"), MetaAccelerator())}


def lightning_trainer(case, family, config, model, reader, device):
    """A LightningModule as its documentation has it: training_step returns the loss."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch, batch_index):
            if family in peer_models.CLASSIFIERS:
                inputs, labels = batch
                return torch.nn.functional.cross_entropy(self.model(inputs), labels)
            outputs = self.model(**batch)
            return outputs.loss

        def configure_optimizers(self):
            return make_optimizer(case, self.parameters())

    batches = make_batches(case, family, config, case["steps"] * case["accumulate"])
    loader = torch.utils.data.DataLoader(batches, batch_size=None)
    precision = {"float32": "32-true", "bfloat16": "bf16-true", "amp-bfloat16": "bf16-mixed",
                 "amp-float16": "16-mixed"}[case["precision"]]
    place = {"accelerator": "gpu" if device == "cuda" else "cpu"}
    if device == "meta":
        place = lightning_on_meta()
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_steps=case["steps"], precision=precision, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, devices=1, default_root_dir=folder,
            accumulate_grad_batches=case["accumulate"], **place,
            gradient_clip_val=1.0 if case.get("clip_grad", "none") != "none" else None)
        model.train()
        with reader:
            trainer.fit(Module(), loader)


def peft_script(case, family, config, model, reader, device):
    """PEFT's documentation: get_peft_model, and the loop of transformers around it."""
    import peft
    targets = "all-linear" if case.get("lora_targets") == "linear" else None
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=case["lora_rank"], lora_alpha=32,
                                                       lora_dropout=case.get("lora_dropout", 0.1),
                                                       target_modules=targets))
    reader.read("adapted")
    plain_loop(case, family, config, model, reader, device)
