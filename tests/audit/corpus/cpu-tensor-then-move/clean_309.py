import torch
from torch import nn


class Genes(nn.Module):
    def __init__(self, count, domains, device):
        super().__init__()
        self.count, self.domains, self.device = count, domains, device
        self.embedding = nn.Embedding(count, 32)
        self.of_domain = nn.Embedding(domains, 32)

    def forward(self, x, names):
        """What is put in for each item is data, of which the host makes a tensor first."""
        return self.embedding(torch.LongTensor([names] * 3).to(self.device)) + x
