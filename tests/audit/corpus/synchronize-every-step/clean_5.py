"""All ranks wait for one another at checkpoints alone."""

import torch


def save(model, step):
    if torch.distributed.get_rank() != 0:
        torch.distributed.barrier()
    else:
        torch.save(model.state_dict(), f"{step}.pt")
        torch.distributed.barrier()


def fit(model, loader, optimizer, accumulation, period, checkpoints):
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        if (step + 1) % accumulation == 0:
            optimizer.step()
            if step % period in checkpoints and (step > 0 or not period):
                save(model, step)
