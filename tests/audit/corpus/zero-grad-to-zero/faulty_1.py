import torch


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=False)  # expect: zero-grad-to-zero
        torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
