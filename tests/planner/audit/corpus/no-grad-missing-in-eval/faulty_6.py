"""Parts of a forward pass are run by name; what is no loop over batches, or called by nobody, is a note."""

import torch
from torch import nn


class Explainer:
    def __init__(self, network: nn.Module):
        self.network = network

    def explain_test_data(self, loader):
        self.network.eval()
        found = []
        for batch in loader:  # expect: no-grad-missing-in-eval@warning
            found.append(self.network.forward_masks(batch.cuda()))
        return found

    def predict_all(self, loader):
        found = []
        for batch in loader:  # expect: no-grad-missing-in-eval@note
            found.append(self.network(batch.cuda()))
        return found


def evaluate_files(names, network: nn.Module):
    returns = []
    for name in names:  # expect: no-grad-missing-in-eval@note
        network.load_state_dict(torch.load(name))
        returns.append(network(torch.ones(3).cuda()).sum())
    return returns
