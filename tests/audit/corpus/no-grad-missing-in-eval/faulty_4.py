import torch
from torch import nn


class Judge(nn.Module):
    def __init__(self, body, size=64):
        super().__init__()
        self.body = body
        self.size = size

    def forward(self, sound):
        return self.body(sound[:, : self.size])


class Tagger(nn.Module):
    def __init__(self, size=64, kinds=5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size, kinds))

    def forward(self, sound):
        return sound @ self.scale


def evaluate(dataset, body):
    judge = Judge(body)
    right = 0
    for sound, kind in dataset:
        right += (judge(sound).argmax(1) == kind).sum()  # expect: no-grad-missing-in-eval@warning
    return right


def predict_all(dataset):
    tagger = Tagger(kinds=3)
    for sound, _ in dataset:
        print(tagger(sound).shape)  # expect: no-grad-missing-in-eval@warning


def predict_slices(model, images, size=64):
    model.eval()
    found = []
    for start in range(0, len(images), size):
        found.append(model(images[start : start + size]).argmax(1))  # expect: no-grad-missing-in-eval@warning
    return torch.cat(found)
