import torch
from torch import nn


class Recommender(nn.Module):
    """Its trainer calls the method, or a class derived from this one does."""

    def forward(self, items, mask):
        return self.encoder(self.items(items), mask)

    def get_attention_mask(self, items):
        length = items.size(-1)
        later = torch.triu(torch.ones((1, length, length)), diagonal=1)  # expect: mask-in-forward@note
        return (later == 0).unsqueeze(1).long().to(items.device)
