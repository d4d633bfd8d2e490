import torch


def update(model, optimizer, limit):
    """One step of the optimiser, with the gradient held within a limit."""
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm
