import torch


def train(model, loader, optimizer, logger):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        total = 0.0
        for p in model.parameters():
            if p.grad is not None:
                total += p.grad.data.norm(2).item() ** 2  # expect: gradient-norms-every-step@warning
        logger.scalar("grad_norm", total**0.5, step)
        optimizer.step()
