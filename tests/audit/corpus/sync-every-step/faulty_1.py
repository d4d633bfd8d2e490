import torch
from torch import nn, optim
from torch.utils.data import DataLoader


def train_one_epoch(model: nn.Module, loader: DataLoader, optimizer: optim.Optimizer, device: torch.device) -> float:
    criterion = nn.CrossEntropyLoss()
    model.train()
    total_loss = 0.0
    correct = 0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()  # expect: sync-every-step
        correct += (logits.argmax(dim=1) == labels).sum().item()  # expect: sync-every-step@warning
    return total_loss / len(loader)
