import pandas as pd
import torch as t


def evaluate(model, loader):
    table = pd.DataFrame()
    hidden = None
    with t.inference_mode():
        for x in loader:
            out = model(x.cuda())
            hidden = out if hidden is None else t.cat((hidden, out), dim=0)  # expect: growing-concatenation
            table = pd.concat([table, pd.DataFrame({"mean": [0.0]})])  # expect: growing-concatenation
    return hidden, table
