import numpy as np
import torch
from torch import nn


class Ranks:
    def __init__(self):
        self.reset()

    def reset(self):
        self.vectors = torch.Tensor()
        self.groups = torch.LongTensor()
        self.scores = np.zeros(0)

    def update(self, vectors, groups, device="cpu"):
        self.vectors = torch.cat([self.vectors.to(device), vectors.detach().to(device)])  # expect: growing-concatenation@note
        self.groups = torch.cat([self.groups.to(device), groups.to(device)])  # expect: growing-concatenation@note

    def add_scores(self, scores):
        self.scores = np.append(self.scores, scores)  # expect: growing-concatenation@note


def answers(model, loader, device, kind):
    found = torch.tensor([])
    best = None
    with torch.no_grad():
        for x, weight in loader:
            found, x, weight = found.to(device), x.to(device), weight.to(device)
            out = model(x)
            found = torch.cat((found, out * weight), 0)  # expect: growing-concatenation@warning
            if kind == "class":
                if best is None:
                    best = out.argmax(1).cpu().numpy()
                else:
                    best = np.append(best, out.argmax(1).cpu().numpy(), axis=0)  # expect: growing-concatenation@warning
            if kind == "logits":
                if best is None:
                    best = out.cpu().numpy()
                else:
                    best = np.append(best, out.cpu().numpy(), axis=0)  # expect: growing-concatenation@warning
    return found, best


class Reader(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        words = None
        for place in range(1, x.size(1) - 1):
            word = self.part(x[:, place - 1 : place + 1])
            if words is None:
                words = word
            else:
                words = torch.cat((words, word), dim=1)  # expect: growing-concatenation@note
        return words
