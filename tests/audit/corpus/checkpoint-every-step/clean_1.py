import torch


def train(model, loader, optimizer, path, epochs, every):
    for epoch in range(epochs):
        for step, x in enumerate(loader):
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % every == 0:
                torch.save(model.state_dict(), path)
        torch.save(model.state_dict(), path)
