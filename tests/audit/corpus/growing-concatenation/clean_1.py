import torch


@torch.no_grad()
def predict(model, loader):
    parts = []
    for x in loader:
        parts.append(model(x.cuda()))
    return torch.cat(parts)
