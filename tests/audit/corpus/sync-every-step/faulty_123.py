import torch
from torch import nn
from .scorer import Scorer


class Translating(Scorer):
    def __init__(self, options):
        super().__init__(options)
        self.margin = nn.Parameter(torch.tensor([options.margin]), requires_grad=False)
        self.entities = nn.Embedding(options.many, options.width)

    def distance(self, head, link, tail):
        return self.margin.item() - torch.norm(head + link - tail, dim=-1)  # expect: sync-every-step@note

    def forward(self, triples):
        parts = self.entities(triples)
        return self.distance(*parts.unbind(1))
