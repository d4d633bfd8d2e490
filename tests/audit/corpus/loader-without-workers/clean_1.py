import torch
from torch.utils.data import DataLoader, TensorDataset


def main(features, targets, model, optimizer):
    """Everything lies on the device: a worker could not reach it."""
    loader = DataLoader(TensorDataset(features.cuda(), targets.cuda()), batch_size=512, shuffle=True)
    for x, y in loader:
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
