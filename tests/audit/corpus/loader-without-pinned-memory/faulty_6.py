import torch
from torch.utils.data import DataLoader


def train(model, data, optimizer, workers, whole):
    options = {"batch_size": 32, "num_workers": workers}
    if whole:
        options["drop_last"] = True
    loader = DataLoader(data, **options)  # expect: loader-without-pinned-memory
    for x in loader:
        loss = model(x.to("cuda")).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
