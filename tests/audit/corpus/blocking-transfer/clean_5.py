import torch
from torch.utils.data import DataLoader


def move(batch, device):
    return {key: value.to(device, non_blocking=True) for key, value in batch.items()}


def train(model, dataset, optimizer, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=4, pin_memory=True)
    for batch in loader:
        batch = move(batch, device)
        images = batch["images"].to(torch.float16)
        scale = batch["scale"].to(images.dtype)
        loss = (model(images) * scale).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        batch["ids"].to("cpu")
