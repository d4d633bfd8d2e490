import torch
from torch.utils import data as tud


def to_device(batch, device):
    return {name: value.to(device) for name, value in batch.items()}  # expect: blocking-transfer


def train(dataset, model, optimizer, local_rank):
    device = f"cuda:{local_rank}"
    loader = tud.DataLoader(dataset, batch_size=16, num_workers=8, pin_memory=True)
    for batch in loader:
        batch = to_device(batch, device)
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
