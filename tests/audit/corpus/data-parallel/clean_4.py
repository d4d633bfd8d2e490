import torch
from torch import nn


class DataParallelActor(nn.Module):
    """A library's offer: who trains takes it by its name, or leaves it."""

    def __init__(self, net):
        super().__init__()
        self.net = nn.DataParallel(net)

    def forward(self, observation):
        return self.net(torch.as_tensor(observation).cuda())


class DPStrategy:
    def setup(self, model, devices):
        return nn.DataParallel(model, device_ids=devices)
