import torch
from torch import nn


class Parallel(nn.DataParallel):
    """Reaches the attributes of what it wraps."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def main(net, loader):
    if torch.cuda.device_count() > 1:
        net = Parallel(net)  # expect: data-parallel
    return net
