import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    """One reader of one stream of ready batches: two would read everything twice."""

    def __init__(self, shards):
        self.shards = shards

    def __iter__(self):
        for shard in self.shards:
            yield torch.load(shard)


def main(shards, model, optimizer):
    loader = DataLoader(Stream(shards), batch_size=None, num_workers=1, prefetch_factor=8)
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
