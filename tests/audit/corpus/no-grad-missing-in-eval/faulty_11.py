import torch
from torch import nn

from randomness import with_seed


class Tabular:
    def __init__(self, generator: nn.Module, device):
        self.generator, self.device = generator, device

    @with_seed
    def sample(self, count, size=500):
        rows = []
        for _ in range(count // size + 1):
            fake = self.generator(torch.randn(size, 128).to(self.device))  # expect: no-grad-missing-in-eval@note
            rows.append(fake.detach().cpu().numpy())
        return rows
