import torch


class Weights:
    """Made anew in each step; set-up code, in which something else may well be wrong."""

    def __init__(self, y):
        self.number = y.sum().item()  # expect: sync-every-step@note


def train(model, loader, optimizer):
    for x, y, mask in loader:
        x, y, mask = x.cuda(), y.cuda(), mask.cuda()
        if mask.sum().item() == 0:  # expect: sync-every-step@note
            continue
        weights = Weights(y)
        loss = torch.nn.functional.mse_loss(model(x), y) / weights.number
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if loss.item() > 100:  # expect: sync-every-step
            continue
        print(loss.item())  # expect: sync-every-step
