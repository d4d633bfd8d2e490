import torch


def train(model, loader, optimizer, epochs):
    for _ in range(epochs):
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.empty_cache()


def between_models(models, loader):
    for model in models:
        print(sum(p.numel() for p in model.parameters()))
        torch.cuda.empty_cache()
