import torch
from torch import nn


class Topics:
    """Goes through chunks of row numbers, without history, and asks a method of the model that nobody knows."""

    def __init__(self, model, batch_size):
        self.model = model
        self.batch_size = batch_size

    def shares(self, counts):
        found = []
        chunks = torch.split(torch.arange(counts.shape[0]), self.batch_size)
        with torch.no_grad():
            self.model.eval()
            for rows in chunks:
                part = self.model.shares_of(counts[rows])
                found.extend(part.cpu().tolist())  # expect: sync-in-eval-loop@note
        return found


def test(model, loader, criterion):
    """For each name of the batch a row is written; the loop over batches reads as well."""
    net = nn.Sequential(model, nn.Linear(10, 10)).cuda()
    softmax = nn.Softmax(dim=0)
    net.eval()
    rows, total = [], 0.0
    with torch.no_grad():
        for data in loader:
            output = net(data["image"].cuda())
            total += criterion(output, data["label"].cuda()).item()  # expect: sync-in-eval-loop@note
            for i, name in enumerate(data["name"]):
                rows.append((name, softmax(output[i]).max().item()))  # expect: sync-in-eval-loop@warning
    return rows, total
