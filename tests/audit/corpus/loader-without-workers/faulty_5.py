import torch
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.loader import NeighborLoader

import torch.utils.data as data
from molecules import Molecules


def get_loader(dataset, batch_size, workers=0, shuffle=True):
    return data.DataLoader(dataset, batch_size=batch_size, shuffle=shuffle, num_workers=workers)  # expect: loader-without-workers


LOADER = data.DataLoader


def build(config, graph):
    train = get_loader(Molecules("train"), config.batch_size)
    graphs = GraphLoader(Molecules("graphs"), batch_size=config.batch_size, shuffle=True)  # expect: loader-without-workers
    parts = NeighborLoader(graph, num_neighbors=[15, 10], batch_size=1024)  # expect: loader-without-workers
    test = LOADER(Molecules("test"), batch_size=config.batch_size)  # expect: loader-without-workers
    return train, graphs, parts, test
