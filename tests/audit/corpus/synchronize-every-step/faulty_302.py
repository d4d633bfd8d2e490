import torch


def train(model, optimizer, loader, device):
    """Of whichever kind the device is, the host waits for it."""
    model.to(device)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
        getattr(torch, device.type).synchronize()  # expect: synchronize-every-step@warning
