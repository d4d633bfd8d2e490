"""A budget that ends the loop over steps: a note, for the host must know it before the next one."""

import torch


def train(model, optimizer, rows, budget):
    spent = torch.zeros((), device="cuda")
    while spent < budget:  # expect: sync-every-step@note
        loss = model(rows.sample().cuda(non_blocking=True)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())  # expect: sync-every-step
        spent = spent + loss.detach().abs()
