import numpy as np
import pandas as pd
import torch


@torch.no_grad()
def a(model, loader):
    outs = torch.tensor([])
    labels = np.array([])
    table = pd.DataFrame()
    for x, y in loader:
        out = model(x.cuda())
        outs = torch.cat((outs, out.cpu()), dim=0)  # expect: growing-concatenation
        labels = np.append(labels, y.numpy())  # expect: growing-concatenation
        table = pd.concat([table, pd.DataFrame({"y": y})])  # expect: growing-concatenation
    return outs, labels, table


def b(model, loader):
    features = None
    for x in loader:
        f = model(x.cuda())
        if features is None:
            features = f
        else:
            features = torch.cat([features, f])  # expect: growing-concatenation
    return features


class C:
    def run(self, loader):
        for i, x in enumerate(loader):
            f = self.model(x)
            self.bank = f if i == 0 else torch.vstack([self.bank, f])  # expect: growing-concatenation
