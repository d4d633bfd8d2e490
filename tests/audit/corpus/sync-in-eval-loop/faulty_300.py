import torch
import torch.nn.functional as F
from helpers import built, greedy, scores_of, windows_of
from torch import nn


class Validation:
    """What an engine of Ignite's runs for each batch: its loop is in a library."""

    def __init__(self, model, losses):
        self.model = model
        self.losses = losses

    def __call__(self, engine, data):
        with torch.no_grad():
            self.model.eval()
            found = self.losses(self.model(data), data)
            return {name: found[name].item() for name in found}  # expect: sync-in-eval-loop@note


def restore(path):
    kept = torch.load(path)
    network = built(kept["settings"])
    network.load_state_dict(kept["state"])
    return network, kept["settings"]


def inference(path, loader, device):
    """Of the model nothing is known but what it is called."""
    model, _ = restore(path)
    model.eval()
    kept = []
    for batch in loader:
        kept.append(model(batch.to(device)).detach().cpu())  # expect: sync-in-eval-loop@note
    return torch.cat(kept)


class Lobe:
    """Goes through windows of a series, which are no batches by their name."""

    def __init__(self, width):
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()

    def transform(self, series):
        self.net.eval()
        out = []
        for window in windows_of(series, device="cuda"):
            out.append(self.net(window).cpu().numpy())  # expect: sync-in-eval-loop@note
        return out


def rerank(model, queries):
    """History is off for the whole turn, and what comes of it is a tensor: a function of PyTorch made it."""
    ranked = []
    for batch in queries:
        with torch.no_grad():
            scores = scores_of(greedy(model, batch))
            scores = F.log_softmax(scores[:, [3, 7]], dim=1)
            ranked.extend(scores[:, 1].tolist())  # expect: sync-in-eval-loop@note
    return ranked
