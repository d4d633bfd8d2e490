import torch


def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # expect: retain-graph-every-step
        optimizer.step()
