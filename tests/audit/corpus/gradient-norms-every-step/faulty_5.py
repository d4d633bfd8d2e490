import torch


def grad_norm(parameters):
    grads = [p.grad for p in parameters if p.grad is not None]
    return torch.stack([g.detach().norm(2) for g in grads]).norm(2)  # expect: gradient-norms-every-step


def squares(optimizer):
    total = 0.0
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                total += p.grad.data.pow(2).sum()  # expect: gradient-norms-every-step
    return total.sqrt()


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        print(grad_norm(model.parameters()))
        squares(optimizer)
        mean = sum((p.grad**2).sum() for p in model.parameters())  # expect: gradient-norms-every-step
        largest = max(p.grad.abs().max() for name, p in model.named_parameters())  # expect: gradient-norms-every-step
        ratio = {n: p.grad.norm() / p.norm() for n, p in model.named_parameters()}  # expect: gradient-norms-every-step
        optimizer.step()
        optimizer.zero_grad()
