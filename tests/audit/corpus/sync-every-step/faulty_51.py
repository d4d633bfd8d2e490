"""The best state so far is chosen by a value of the device; that the numbers are shown, too, is not needed."""

import copy

import torch.nn.functional as F


def fit(network, features, labels, optimizer, turns):
    network, features, labels = network.cuda(), features.cuda(), labels.cuda()
    lowest, kept = float("inf"), None
    for _ in range(turns):
        loss = F.cross_entropy(network(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        error = F.mse_loss(network(features), labels)
        if error < lowest:  # expect: sync-every-step@note
            lowest = error
            kept = copy.deepcopy(network.state_dict())
        print(loss.item())  # expect: sync-every-step@warning
        print(error.item())  # expect: sync-every-step@warning
    return kept
