import torch
from torch import nn


class Genes(nn.Module):
    def __init__(self, count, domains, device):
        super().__init__()
        self.count, self.domains, self.device = count, domains, device
        self.embedding = nn.Embedding(count, 32)
        self.of_domain = nn.Embedding(domains, 32)

    def forward(self, x):
        """Ranges, and one number as often as there are items, are numbers of the host."""
        every = torch.LongTensor(list(range(self.count))).repeat(len(x)).to(self.device)  # expect: cpu-tensor-then-move
        total = self.embedding(every)
        for number in range(self.domains):
            domain = torch.LongTensor([number] * len(x)).to(self.device)  # expect: cpu-tensor-then-move
            total = total + self.of_domain(domain)
        return total
