import torch
import torch.nn.functional as F


def a(model, loader, optimizer):
    outputs = []
    for x, y in loader:
        out = model(x.cuda())
        loss = F.cross_entropy(out, y.cuda())
        loss.backward()
        optimizer.step()
        outputs.append(out.detach().cpu())  # expect: host-memory-growth


class B:
    def __init__(self):
        self.seen = []
        self.table = {"logits": []}

    def training_batch(self, x, y):
        out = self.model(x.cuda())
        self.seen.append(out.detach().cpu().numpy())  # expect: host-memory-growth@warning
        F.cross_entropy(out, y.cuda()).backward()
        self.optimizer.step()

    def fit(self, loader):
        for x, y in loader:
            self.training_batch(x, y)


def epochs(model, loader, optimizer, n):
    labels, logits = [], []
    for _ in range(n):
        for x, y in loader:
            out = model(x.cuda())
            F.cross_entropy(out, y.cuda()).backward()
            optimizer.step()
            labels.extend(y)  # expect: host-memory-growth@warning
            logits.append(out.cpu().detach())  # expect: host-memory-growth@warning
