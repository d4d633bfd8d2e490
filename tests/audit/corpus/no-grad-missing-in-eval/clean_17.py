import torch
from torch import nn

from modes import inference_only


class Tabular:
    def __init__(self, generator: nn.Module, device):
        self.generator, self.device = generator, device

    @inference_only
    def sample(self, count):
        return [self.generator(torch.randn(1, 8).to(self.device)).detach().cpu().numpy() for _ in range(count)]
