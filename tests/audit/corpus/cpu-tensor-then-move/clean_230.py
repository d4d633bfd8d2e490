import torch
from torch import nn


def vectors(words, width):
    """Of data, which lies on the host."""
    table = [[hash(word) % width for word in row] for row in words]
    return torch.FloatTensor(table)


def stored(name, places):
    """Read, not computed."""
    table = torch.load(name)[:places]
    return torch.FloatTensor(table)


def placed(places, device):
    table = torch.zeros(places, device=device)
    table[0::2] = 1
    return table


class Encoder(nn.Module):
    def forward(self, x, words):
        x = x + vectors(words, x.shape[2]).to(x.device)
        x = x + stored("table.pt", x.shape[1]).to(x.device)
        return x + placed(x.shape[1], x.device).to(x.device)


def weighted_loss(scores, rows, on_gpu):
    r = torch.tensor(rows)
    if on_gpu:
        r, rows = r.double(), None
        r = r.cuda(non_blocking=True)
    return (scores * r).sum()


def perturbed_step(model, batch, noise):
    noise = torch.FloatTensor(noise).to(batch["features"].device)
    return model(batch["features"] + noise)
