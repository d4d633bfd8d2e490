import torch


def train(model, loader):
    """On the processor; and a solver that needs its digits."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def physics(model, loader):
    torch.set_default_dtype(torch.float64)
    model = model.double().cuda()
    optimizer = torch.optim.LBFGS(model.parameters())
    for x in loader:
        loss = model(x.double().cuda()).square().mean()
        loss.backward()
        optimizer.step(lambda: loss)
