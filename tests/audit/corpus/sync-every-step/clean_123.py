import torch
from torch import nn
from .scorer import Scorer


class Planning(Scorer):
    """Plans on the host, once."""

    def __init__(self, options):
        super().__init__(options)
        self.margin = torch.tensor([options.margin])

    def distance(self, head, tail):
        return self.margin.item() - abs(head - tail)

    def forward(self, pairs):
        return [self.distance(*each) for each in pairs]


class Translating(Scorer):
    def __init__(self, options):
        super().__init__(options)
        self.margin = options.margin
        self.entities = nn.Embedding(options.many, options.width)

    def distance(self, head, link, tail):
        return self.margin - torch.norm(head + link - tail, dim=-1)

    def forward(self, triples):
        return self.distance(*self.entities(triples).unbind(1))
