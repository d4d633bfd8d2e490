import torch


def gradient_report(model):
    return {name: p.grad.norm().item() for name, p in model.named_parameters() if p.grad is not None}


def train(model, loader, optimizer, writer, every=500):
    for step, batch in enumerate(loader):
        loss = model(batch.cuda()).mean()
        loss.backward()
        if step % every == 0:
            for name, value in gradient_report(model).items():
                writer.add_scalar(f"grad/{name}", value, step)
        optimizer.step()
        optimizer.zero_grad()
