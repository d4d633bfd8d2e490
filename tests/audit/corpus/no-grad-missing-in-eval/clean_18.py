import torch
from torch import nn


class Tagger:
    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def predict(self, batch):
        self.model.eval()
        _, scores = self.model(batch)
        scores = [each.data.cpu().numpy() for each in scores]
        return [each.argmax(-1) for each in scores]

    def embed(self, batch):
        self.model.eval()
        found = self.model(batch)
        print(found.mean().item())
        return found


def attend(model, x, gate):
    model.eval()
    scale = model(x)
    print(scale.mean().item())
    x = gate(x)
    x = x * scale
    return x


def fool(model, x, label):
    model.eval()
    x.requires_grad_(True)
    loss = nn.functional.cross_entropy(model(x), label)
    loss.backward()
    print(loss.item())
    return x + x.grad.sign()


def train(model, batches, optimizer):
    model.eval()
    with torch.no_grad():
        print(model(batches[0]).mean().item())
    model.train()
    loss = model(batches[0]).mean()
    print(loss.item())
    loss.backward()
    optimizer.step()
