import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

BATCH_SIZE = 256
BATCH_DIM = 1


def main(dataset, model, optimizer):
    sampler = BatchSampler(RandomSampler(dataset), batch_size=BATCH_SIZE, drop_last=True)
    loader = DataLoader(dataset, sampler=sampler, batch_size=None)
    for x in loader:
        model(x.cuda()).mean(BATCH_DIM).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def bags(bag_set, model, optimizer):
    """Whole slides: thousands of patches an item, collated by hand."""
    loader = DataLoader(bag_set, batch_size=1, collate_fn=lambda items: torch.cat(items))
    for patches in loader:
        model(patches.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
