import torch


def train(model, loader, optimizer, device):
    total_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total_loss += loss  # expect: retained-graph@note
    print("mean loss", total_loss / len(loader))
