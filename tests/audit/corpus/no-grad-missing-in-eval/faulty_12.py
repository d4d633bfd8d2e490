import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)

    def forward(self, x):
        return self.body(x), self.body(x)

    def predict(self, x):
        self.eval()
        a, b = self(torch.tensor(x, dtype=torch.float))  # expect: no-grad-missing-in-eval@note
        a, b = a.detach().numpy(), b.detach().numpy()
        return a if a.any() else b


class Tagger:
    def __init__(self, model):
        self.model = model

    def predict(self, batch):
        self.model.eval()
        _, scores = self.model(batch)  # expect: no-grad-missing-in-eval@note
        scores = [each.data.cpu().numpy() for each in scores]
        return [each.argmax(-1) for each in scores]


def train(epoch, model, features, labels, optimizer, parts, fast):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.nll_loss(model(features)[parts["train"]], labels)
    loss.backward()
    optimizer.step()
    model.eval()
    output = model(features)  # expect: no-grad-missing-in-eval@note
    checked = nn.functional.nll_loss(output[parts["val"]], labels)
    print(epoch, loss.item(), checked.item())
