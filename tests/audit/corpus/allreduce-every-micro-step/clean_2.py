import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def nano(model, batches, optimizer, steps, micro_steps, ddp):
    """The flag itself, set for the last micro-step."""
    if ddp:
        model = DDP(model)
    for _ in range(steps):
        for micro in range(micro_steps):
            if ddp:
                model.require_backward_grad_sync = micro == micro_steps - 1
            loss = model(next(batches)).mean() / micro_steps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
