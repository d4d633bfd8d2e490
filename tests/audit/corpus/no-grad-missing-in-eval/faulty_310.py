import torch

from survival import likelihood, network


def pretrain(times, events, t_valid, e_valid, steps, risks):
    """What `likelihood` does no file says, but what it gives is detached."""
    model = network(risks)
    optimizer = torch.optim.Adam(model.parameters())
    costs = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = 0
        for risk in range(risks):
            loss += likelihood(model, times, events, risk)
        loss.backward()
        optimizer.step()
        held_out = 0
        for risk in range(risks):
            held_out += likelihood(model, t_valid, e_valid, risk)  # expect: no-grad-missing-in-eval@note
        costs.append(held_out.detach().cpu().numpy())
    return costs
