import torch


def train(model, loader, optimizer):
    for x in loader:
        x = x.cuda().requires_grad_()
        loss = model(x).mean()
        slope = torch.autograd.grad(loss, x, create_graph=True, retain_graph=True)[0]
        (loss + slope.square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = model(x).mean()
        loss.backward(retain_graph=False)
