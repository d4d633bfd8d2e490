"""Parts whose sizes follow from a count on the device: a note, for the host must know them."""

import torch


def train(model, optimizer, loader):
    for x in loader:
        given = model(x.cuda())
        first, *_ = torch.split(given, given.shape[0] - int((given > 0).sum().item()))  # expect: sync-every-step@note
        loss = first.mean()
        print(loss.item())  # expect: sync-every-step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
