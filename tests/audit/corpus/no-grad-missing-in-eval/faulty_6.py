"""Parts of a forward pass are run by name; what is no loop over batches, or called by nobody, is a note."""

import torch
from torch import nn


class Explainer:
    def __init__(self, network: nn.Module):
        self.network = network

    def explain_test_data(self, loader):
        self.network.eval()
        found = []
        for batch in loader:
            found.append(self.network.forward_masks(batch.cuda()))  # expect: no-grad-missing-in-eval@warning
        return found

    def predict_all(self, loader):
        found = []
        for batch in loader:
            found.append(self.network(batch.cuda()))  # expect: no-grad-missing-in-eval@note
        return found


def evaluate_files(names, network: nn.Module):
    returns = []
    for name in names:
        network.load_state_dict(torch.load(name))
        returns.append(network(torch.ones(3).cuda()).sum())  # expect: no-grad-missing-in-eval@note
    return returns
