import torch
from torch import nn
from torch.autograd import Variable


def measure(output, target):
    hits = output.argmax(1).eq(target)
    return nn.functional.cross_entropy(output, target), hits.float().mean()


def test(loader):
    model = nn.Linear(3, 3).cuda()
    model.eval()
    scores = []
    with torch.no_grad():
        for x, y in loader:
            x, y = Variable(x).cuda(), Variable(y).cuda()
            _, acc = measure(model(x), y)
            scores.append(acc.data[0])  # expect: sync-in-eval-loop
    return sum(scores) / len(scores)


def first(loader):
    model = nn.Linear(3, 3).cuda()
    with torch.no_grad():
        return [model(Variable(x).cuda()).data[0] for x, _ in loader]
