import torch
from torch.utils.data import DataLoader, TensorDataset


def main(features, targets, model, optimizer):
    """Everything is in memory: a worker would only copy it."""
    loader = DataLoader(TensorDataset(features, targets), batch_size=512, shuffle=True)
    for x, y in loader:
        torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
