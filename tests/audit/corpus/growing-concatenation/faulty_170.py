import pandas as pd
import torch


def prices(api, names):
    table = pd.DataFrame()
    for name in names:
        part = api.bars(name)
        part["name"] = name
        table = table.append(part)  # expect: growing-concatenation@note
    return table.reset_index()


def results(model, loader):
    rows, seen = pd.DataFrame(), pd.DataFrame()
    for x, y in loader:
        out = model(x.cuda())
        rows = rows.append({"score": float(out.mean())}, ignore_index=True)  # expect: growing-concatenation
        if seen is not None:
            more = pd.DataFrame({"y": y})
            seen = seen.append(more, ignore_index=True)  # expect: growing-concatenation
    return rows, seen


class History:
    def __init__(self):
        self.table = pd.DataFrame()

    def record(self, loss: torch.Tensor):
        self.table = self.table.append({"loss": loss.detach()}, ignore_index=True)  # expect: growing-concatenation@note
