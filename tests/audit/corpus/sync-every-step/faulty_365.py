"""The scale of a scaler, read in each step; measures of a training's batch; checks before, which say nothing."""

import torch


def train(model, loader, optimizer, scheduler, size):
    scaler = torch.cuda.amp.GradScaler()
    for x, y in loader:
        if len(x) % size:
            raise ValueError(f"a batch of {len(x)} rows, which {size} does not divide")
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        before = scaler.get_scale()  # expect: sync-every-step@note
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if before <= scaler.get_scale():  # expect: sync-every-step@note
            scheduler.step()
        print(loss.item())  # expect: sync-every-step


def train_metrics(output, target, metrics):
    found = {}
    for metric in metrics:
        found[metric.name] = metric(output, target).item()  # expect: sync-every-step@note
    return found
