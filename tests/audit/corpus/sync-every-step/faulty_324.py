"""What is read where there is one process alone is read in each of its steps: that is no set-up."""

import torch.distributed as dist


def reduced(value):
    if dist.is_initialized():
        dist.all_reduce(value)
        return value
    return value.item() + value.sqrt().item()  # expect: sync-every-step@warning


def train(model, loader, optimizer, losses):
    model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(reduced(loss))
