import torch
from torch import nn


def on_the_processor(batches):
    """Nothing says that this runs on a GPU."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


@torch.no_grad()
def inference(batches):
    net = nn.Linear(4, 2).cuda()
    return [net(x.cuda()) for x in batches]


def traced(batches):
    model = torch.jit.script(nn.Linear(4, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        model(x.cuda()).mean().backward()
        optimizer.step()
