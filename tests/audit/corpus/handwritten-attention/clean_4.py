import torch
from torch import nn


class Mixture(nn.Module):
    """Gates are no attention, whichever softmax was chosen: they weigh a few experts, and are given back."""

    def __init__(self, size, experts, hard=False):
        super().__init__()
        self.gate = nn.Linear(size, len(experts))
        self.experts = nn.ModuleList(experts)
        self.hard = hard

    def forward(self, x):
        softmax = nn.functional.gumbel_softmax if self.hard else torch.softmax
        gates = softmax(self.gate(x), dim=-1)
        return sum(gates[..., number, None] * each(x) for number, each in enumerate(self.experts)), gates
