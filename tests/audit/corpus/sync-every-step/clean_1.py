import torch
from torch import nn


def train_one_epoch(model, loader, optimizer, device, log_every=50):
    criterion = nn.CrossEntropyLoss()
    running = torch.zeros((), device=device)
    model.train()
    for step, (images, labels) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.detach()
        if step % log_every == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return (running / len(loader)).item()
