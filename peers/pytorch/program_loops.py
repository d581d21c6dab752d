"""Loops that people write themselves, with the habits that a case names, and the one with accelerate.

A batch comes as documentation has it: tensors of the host, brought to the device by the loop, once a step. Which names stay
alive, and until when, is what is measured here; so nothing is put into a function that the loop would not put there.
"""
import contextlib

import torch

import peer_models


def make_batches(case, family, config, count):
    """`count` batches in the host's memory: dictionaries for transformers, (images, labels) for classifiers."""
    batch, batches = case["batch"], []
    for _ in range(count):
        if family in peer_models.CLASSIFIERS:
            size, classes = peer_models.image_shape(case, config)
            pixels = torch.randn(batch, 3, size, size).to(peer_models.storage_dtype(case))
            batches.append((pixels, torch.randint(0, classes, (batch,))))
            continue
        ids = torch.randint(0, config.vocab_size, (batch, case["seq"]))
        row = {"input_ids": ids}
        if case.get("mask"):
            row["attention_mask"] = torch.ones_like(ids)
        if case["mode"] == "train":
            row["labels"] = ids.clone()
        batches.append(row)
    return batches


def autocast(case, device):
    dtype = torch.float16 if case["precision"] == "amp-float16" else torch.bfloat16
    if not case["precision"].startswith("amp"):
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=dtype)


def make_optimizer(case, parameters):
    """As the program makes it: `adamw` and `sgd` are torch.optim's with nothing said but the learning rate."""
    name = case["optimizer"]
    plain = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    if name in plain:
        return plain[name](parameters, lr=1e-4)
    return peer_models.make_optimizer(name, parameters)


def clip(case, model):
    kind = case.get("clip_grad", "none")
    if kind != "none":
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, **({} if kind == "default" else
                                                                   {"foreach": kind == "foreach"}))


def plain_loop(case, family, config, model, reader, device):
    """transformers' documentation: outputs = model(**batch); loss = outputs.loss; backward, step, zero_grad."""
    model.train()
    optimizer = make_optimizer(case, model.parameters())
    keeps, when, to_none = case["outputs"] == "kept", case["zero_grad"], case.get("set_to_none", True)
    total = 0.0
    with reader:
        for batch in make_batches(case, family, config, case["steps"]):
            batch = {name: value.to(device) for name, value in batch.items()}
            if when == "before-forward":
                optimizer.zero_grad(set_to_none=to_none)
            with autocast(case, device):
                if keeps:
                    outputs = model(**batch)
                    loss = outputs.loss
                else:
                    loss = model(**batch).loss
            if when == "before-backward":
                optimizer.zero_grad(set_to_none=to_none)
            loss.backward()
            clip(case, model)
            optimizer.step()
            if when == "after-step":
                optimizer.zero_grad(set_to_none=to_none)
            if case.get("loss_item"):
                total += loss.item()


def image_loop(case, family, config, model, reader, device):
    """PyTorch's tutorial: outputs = model(inputs); loss = criterion(outputs, labels)."""
    model.train()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = make_optimizer(case, model.parameters())
    running_loss = 0.0
    with reader:
        for inputs, labels in make_batches(case, family, config, case["steps"]):
            inputs, labels = inputs.to(device), labels.to(device)
            if case["zero_grad"] == "before-forward":
                optimizer.zero_grad()
            with autocast(case, device):
                if case["outputs"] == "kept":
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                else:
                    loss = criterion(model(inputs), labels)
            if case["zero_grad"] == "before-backward":
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if case["zero_grad"] == "after-step":
                optimizer.zero_grad()
            if case.get("loss_item"):
                running_loss += loss.item()


def plain_inference(case, family, config, model, reader, device):
    """outputs = model(**batch) without gradients; of kept outputs the last ones live through the next pass."""
    model.eval()
    with torch.no_grad():
        for turn, batch in enumerate(make_batches(case, family, config, case["steps"])):
            reader.meter.reset_peaks()
            reader.stage_begins("forward")
            with autocast(case, device):
                if family in peer_models.CLASSIFIERS:
                    outputs = model(batch[0].to(device))
                else:
                    batch = {name: value.to(device) for name, value in batch.items()}
                    outputs = model(**batch)
            if turn in (0, case["steps"] - 1):
                reader.read("forward" if turn else "forward_first")
            if case["outputs"] == "dropped":
                del outputs


def accelerate_loop(case, family, config, model, reader, device):
    """accelerate's documentation: prepare(), accelerator.backward(); a data loader brings the batches to the device."""
    import accelerate
    mixed = {"amp-bfloat16": "bf16", "amp-float16": "fp16"}.get(case["precision"], "no")
    accelerator = accelerate.Accelerator(mixed_precision=mixed, cpu=device == "cpu",
                                         gradient_accumulation_steps=case["accumulate"])
    rows = make_batches({**case, "batch": 1}, family, config, case["batch"] * case["steps"] * case["accumulate"])
    rows = [{name: value[0] for name, value in row.items()} for row in rows]
    loader = torch.utils.data.DataLoader(rows, batch_size=case["batch"], shuffle=True)
    optimizer = make_optimizer(case, model.parameters())
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    model.train()
    with reader:
        for batch in loader:
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                accelerator.backward(loss)
                if case.get("clip_grad", "none") != "none" and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
