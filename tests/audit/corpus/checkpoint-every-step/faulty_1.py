import torch


def train(model, loader, optimizer, path):
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.save({"model": model.state_dict(), "step": step}, path)  # expect: checkpoint-every-step@warning
