import torch
import torch.nn.functional as F


def attack(model, loader, epsilon):
    """Adversarial examples need the gradient of their input, with the model in evaluation mode."""
    model.eval()
    fooled = 0
    for x, y in loader:
        x = x.cuda().requires_grad_(True)
        loss = F.cross_entropy(model(x), y.cuda())
        grad = torch.autograd.grad(loss, x)[0]
        moved = x + epsilon * grad.sign()
        with torch.no_grad():
            fooled += (model(moved).argmax(1) != y.cuda()).sum()
    return fooled


def finetune_with_frozen_statistics(model, loader, optimizer):
    """`eval()` for the batch statistics alone; the loop trains."""
    model.eval()
    for x, y in loader:
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
