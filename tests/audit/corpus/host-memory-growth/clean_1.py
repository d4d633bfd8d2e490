import torch


def train(model, loader, optimizer, device):
    """Numbers grow slowly, a window is bounded, and a list that is emptied is no leak."""
    losses, window = [], []
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        window.append(loss.detach())
        if step % 100 == 0:
            losses.append(torch.stack(window).mean().item())
            window.clear()
    return losses
