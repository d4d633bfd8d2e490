import torch


def likelihood(model, times, events):
    return -(model(times) * events).mean()


def pretrain(model, times, events, t_valid, e_valid, steps):
    optimizer = torch.optim.Adam(model.parameters())
    costs = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = likelihood(model, times, events)
        loss.backward()
        optimizer.step()
        held_out = likelihood(model, t_valid, e_valid)  # expect: no-grad-missing-in-eval@note
        costs.append(held_out.item())
    return costs


def tune(steps, times, events, t_valid, e_valid):
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
    return pretrain(model, times, events, t_valid, e_valid, steps)
