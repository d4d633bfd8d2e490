import torch


def train(model, loader, optimizer):
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss = loss + sum(p.pow(2).sum() for p in model.parameters())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        together = torch.stack(torch._foreach_norm([p.grad for p in model.parameters()])).norm()
        if step % 100 == 0:
            print(norm, together, [p.grad.norm() for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()


def explain(model, x):
    """Once, by hand."""
    model(x).mean().backward()
    return {name: p.grad.norm().item() for name, p in model.named_parameters()}
