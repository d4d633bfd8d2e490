import torch
import torch.nn as nn


def main(model: nn.Module, loader):
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)  # expect: data-parallel@warning
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
