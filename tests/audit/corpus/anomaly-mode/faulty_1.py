import torch

torch.autograd.set_detect_anomaly(True)  # expect: anomaly-mode@warning


def train(model, loader, optimizer):
    for x, y in loader:
        torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
