import torch


def cut(x):
    if torch.count_nonzero(x) > 0:  # expect: sync-every-step
        if (x < 1e-7).any():  # expect: sync-every-step@note
            x = x[..., :1]
    return x


def ratios(x):
    return cut(x.cumprod(-1)).sum()


def advantages(x):
    return ratios(x) + 1


def train(model, loader, optimizer):
    """What a helper's helper looks for concerns whoever wrote that one."""
    for x, y in loader:
        x = x.cuda()
        loss = torch.nn.functional.mse_loss(model(x) * advantages(x), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if loss.isnan():  # expect: sync-every-step@warning
            raise ValueError(loss)
