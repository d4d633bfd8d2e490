import torch


def likelihood(model, times, events):
    return -(model(times) * events).mean()


def pretrain(model, times, events, t_valid, e_valid, steps):
    """What is kept for validation is asked without history; a penalty of it is differentiated."""
    optimizer = torch.optim.Adam(model.parameters())
    costs = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = likelihood(model, times, events) + 0.1 * likelihood(model, t_valid, e_valid)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            costs.append(likelihood(model, t_valid, e_valid).item())
    return costs


def slope(model, times):
    """What it gives is a derivative: the history is needed, and used up at once."""
    inputs = times.clone().requires_grad_()
    return torch.autograd.grad(model(inputs).sum(), inputs)[0].mean()


def watch(model, times, events, t_valid, steps):
    optimizer = torch.optim.Adam(model.parameters())
    slopes = []
    for _ in range(steps):
        loss = likelihood(model, times, events)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        slopes.append(slope(model, t_valid).item())
    return slopes


def tune(steps, times, events, t_valid, e_valid):
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
    return pretrain(model, times, events, t_valid, e_valid, steps)
