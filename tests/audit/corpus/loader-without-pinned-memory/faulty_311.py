from functools import partial

import torch
from torch.utils.data import DataLoader


def main(datasets, net, batch_size):
    """`map` hands over the data set alone."""
    make = partial(DataLoader, batch_size=batch_size, num_workers=4, shuffle=True)  # expect: loader-without-pinned-memory
    train, val = map(make, datasets)
    net.cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in train:
        loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return val
