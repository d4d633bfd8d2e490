"""Pinned where there is a device; or by arguments that stand in a dict."""

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader


def fit(model, data, optimizer):
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=on_gpu)
    for picture, kind in loader:
        picture = picture.to(device)  # expect: blocking-transfer
        kind = kind.to(device)  # expect: blocking-transfer
        loss = cross_entropy(model(picture), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fit_with(model, data, optimizer):
    how = {"num_workers": 4, "pin_memory": True}
    loader = DataLoader(data, batch_size=64, **how)
    for picture, kind in loader:
        loss = cross_entropy(model(picture.cuda()), kind.cuda(non_blocking=True))  # expect: blocking-transfer
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
