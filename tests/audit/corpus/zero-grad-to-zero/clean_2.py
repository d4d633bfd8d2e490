import torch


def embed_attack(model, loader, steps):
    """One tensor's gradient, not the model's."""
    for x in loader:
        delta = torch.zeros_like(x, device="cuda", requires_grad=True)
        for _ in range(steps):
            model(x.cuda() + delta).mean().backward()
            with torch.no_grad():
                delta += 0.01 * delta.grad.sign()
            delta.grad.zero_()


def train(model, loader, optimizer):
    for x in loader:
        for p in model.parameters():
            p.grad = None
        model(x.cuda()).mean().backward()
        optimizer.step()
