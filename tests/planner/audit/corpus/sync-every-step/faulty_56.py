"""What a model gave is brought to the host before it is counted there; nothing else waits."""

import torch
import torch.nn.functional as F


def step(model, x, y, on_gpu):
    if on_gpu:
        y = y.cuda()
    out = model(x).float()
    loss = F.binary_cross_entropy(out, y.float())
    loss.backward()
    if on_gpu:
        y = y.cpu()
        out = out.cpu()  # expect: sync-every-step@note
    with torch.no_grad():
        out = out.float()
        hits = ((out > 0.5) == y).sum().item()
        apart = torch.mean((y - out) ** 2).item()
    return hits, apart


def fit(model, loader, optimizer):
    model = model.cuda()
    for x, y in loader:
        step(model, x, y, True)
        optimizer.step()
        optimizer.zero_grad()
