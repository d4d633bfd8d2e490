import torch
from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    """On the processor nothing is transferred."""
    device = torch.device("cpu")
    loader = DataLoader(dataset, batch_size=128, shuffle=True, num_workers=8)
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()
