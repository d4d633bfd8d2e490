"""What lies in memory is fetched row by row all the same; graphs are joined, whose lists lie there too."""

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.loader import LinkNeighborLoader

from scenes import Scenes


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, n):
        return torch.tensor(self.series[n : n + self.length])


def main(features, targets, series, model, optimizer):
    rows = DataLoader(TensorDataset(features, targets), batch_size=512, shuffle=True)  # expect: loader-without-workers@note
    for x, y in rows:
        torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return DataLoader(Windows(series, 64), batch_size=32)  # expect: loader-without-workers@note


def graphs(count, data):
    several = [Data(x=torch.rand(n, 3)) for n in range(count)]
    whole = GraphLoader(several, batch_size=32, shuffle=True)  # expect: loader-without-workers@note
    return whole, LinkNeighborLoader(data, num_neighbors=[8, 8], batch_size=32)  # expect: loader-without-workers@note


def either(folder, mean=None):
    if mean is None:
        unknown = Scenes(folder=folder, scale=1.0)
    else:
        unknown = Scenes(folder=folder, scale=2.0, mean=mean)
    return DataLoader(unknown, batch_size=32, shuffle=True)  # expect: loader-without-workers@note
