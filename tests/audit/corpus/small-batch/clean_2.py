import torch
from torch.utils.data import DataLoader


class Packed(torch.utils.data.IterableDataset):
    """Each item is a whole batch of tokens already."""

    def __init__(self, shards, batch, length):
        self.shards, self.batch, self.length = shards, batch, length

    def __iter__(self):
        for shard in self.shards:
            yield from shard.view(-1, self.batch, self.length)


def main(shards, model, optimizer):
    loader = DataLoader(Packed(shards, 64, 2048), batch_size=None, num_workers=2)
    for tokens in loader:
        model(tokens.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
