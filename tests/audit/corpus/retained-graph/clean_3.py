import torch


@torch.no_grad()
def evaluate(model, loader):
    total = 0
    for x, y in loader:
        total += torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    return total / len(loader)


def train(model, loader, optimizer):
    total, numbers, last = 0.0, [], None
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        last = loss
        total += float(loss)
        total += loss.data
        numbers.append(loss.item())
        with torch.no_grad():
            total += loss
    return total, numbers, last
