import torch


def train(model, loader, optimizer):
    largest = None
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        # one launch for all, and nothing is read on the host
        norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
        largest = torch.stack(norms).max()
        optimizer.step()
        optimizer.zero_grad()
    return largest.item()


def summarise(model):
    """After the training: each weight once."""
    return sorted((p.norm().item() for p in model.parameters()), reverse=True)
