import contextlib

import torch


def main(model, loader, optimizer, dtype="bfloat16", device_type="cuda"):
    precision = {"float32": torch.float32, "bfloat16": torch.bfloat16}[dtype]
    ctx = contextlib.nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type, dtype=precision)
    model.cuda()
    for x, y in loader:
        with ctx:
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
