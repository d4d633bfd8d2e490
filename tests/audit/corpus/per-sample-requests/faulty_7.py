"""Each row asks for its own picture while batches wait for them."""

import requests
import torch


class Pictures(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return torch.tensor(requests.get(self.rows[index], timeout=60).json())  # expect: per-sample-requests@warning


def fit(model, rows, optimizer):
    for batch in torch.utils.data.DataLoader(Pictures(rows), batch_size=64):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
