import torch
from torch import nn


def train(loader, device, save_plan=False, keep_norms=True):
    model = nn.Linear(8, 8).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    plans, norms = [], []
    for x, y in loader:
        plan = model(x.to(device))
        loss = nn.functional.mse_loss(plan, y.to(device))
        if save_plan:
            plans.append(plan.detach().cpu())  # expect: sync-every-step@note
        if keep_norms:
            norms.append(plan.detach().max().item())  # expect: sync-every-step@warning
            norms.append(plan.detach().min().item())  # expect: sync-every-step@warning
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return plans, norms
