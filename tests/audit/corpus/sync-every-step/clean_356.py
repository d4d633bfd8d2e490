"""A setting that is called a loss, and is one of an enumeration."""

import enum
from dataclasses import dataclass

from torch.nn import functional as F


class LossChoice(enum.Enum):
    CE = "ce"
    KL = "kl"


@dataclass
class Training:
    loss: LossChoice = LossChoice.KL

    def fit(self, model, loader, optimizer):
        for x, y in loader:
            if self.loss == LossChoice.CE:
                loss = F.cross_entropy(model(x.cuda()), y.cuda())
            else:
                loss = F.kl_div(model(x.cuda()), y.cuda())
            scaled = loss / 2
            scaled.backward()
            optimizer.step()
            optimizer.zero_grad()
