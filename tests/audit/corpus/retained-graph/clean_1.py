import torch


def train(model, loader, optimizer, device):
    total_loss = torch.zeros((), device=device)
    hits = 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x.to(device))
        loss = torch.nn.functional.cross_entropy(out, y.to(device))
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()
        hits += (out.argmax(1) == y.to(device)).sum()
    return total_loss.item() / len(loader), hits
