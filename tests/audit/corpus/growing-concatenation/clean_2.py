import torch


@torch.no_grad()
def generate(model, ids, steps):
    """Each token is read by the next step: the sequence must grow."""
    for _ in range(steps):
        logits = model(ids)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids
