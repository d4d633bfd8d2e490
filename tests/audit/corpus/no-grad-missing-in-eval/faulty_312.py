import torch

from fields import Potential


def fit(loader, x_val, y_val, device, epochs):
    """Behind the batches of each epoch, what is kept for validation goes through at once."""
    net = torch.nn.Linear(8, 1).to(device)
    optimizer = torch.optim.AdamW(net.parameters())
    errors = []
    for _ in range(epochs):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(net(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        error = torch.nn.functional.mse_loss(net(x_val), y_val)  # expect: no-grad-missing-in-eval@note
        errors.append(error.item())
    return errors


def evaluate(loader, device):
    """Of what it gives nothing is a derivative."""
    net = Potential().to(device)
    net.eval()
    error = 0.0
    for atoms, energy in loader:
        result = net(atoms.to(device))  # expect: no-grad-missing-in-eval@warning
        error += (result["energy"] - energy.to(device)).abs().mean().item()
    return error


def main(loader):
    return evaluate(loader, torch.device("cuda"))
