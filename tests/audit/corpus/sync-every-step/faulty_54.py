"""What was brought to the host is read there for nothing; a turn takes one arm, in which it waits once."""

import torch.nn.functional as F


def fit(network, loader, optimizer, kind):
    network = network.cuda()
    sums = []
    for x, y in loader:
        if kind == "graphs":
            loss = F.mse_loss(network(x.cuda()), y.cuda())
            loss.backward()
            sums.append(loss.item())  # expect: sync-every-step@note
        else:
            given = network(x.cuda()).cpu()  # expect: sync-every-step@note
            loss = F.mse_loss(given, y)
            loss.backward()
            sums.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return sums
