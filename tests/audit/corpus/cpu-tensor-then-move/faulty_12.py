import math

import numpy as np
import torch
from torch import Tensor, nn


def draw(count, width):
    return torch.randn(count, width)


class Gate(nn.Module):
    def __init__(self, width, use_cuda):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.use_cuda = use_cuda

    def forward(self, x):
        chance = torch.rand(x.shape)
        chance = torch.log(chance) - torch.log(1 - chance)
        half = torch.FloatTensor([0.5]).to(x.device)  # expect: cpu-tensor-then-move@note
        start = nn.init.zeros_(torch.Tensor(2, x.shape[0], 8)).to(x.device)  # expect: cpu-tensor-then-move@warning
        same = Tensor(x.shape).fill_(math.e).to(x.dtype).to(x.device)  # expect: cpu-tensor-then-move@warning
        eye = torch.eye(x.size(0)) > half.item()
        if self.use_cuda:
            eye = eye.cuda()  # expect: cpu-tensor-then-move@warning
        first = torch.zeros(x.shape[0], 4)
        first[:, 0] = 1
        parts = torch.cat([torch.ones(x.shape[0], 1), torch.zeros(x.shape[0], 3)], dim=1)
        flips = torch.from_numpy(np.random.choice(2, x.shape)).to(x.device)  # expect: cpu-tensor-then-move@warning
        words = torch.tensor([self.START] * x.shape[0]).to(x.device)  # expect: cpu-tensor-then-move@warning
        mixed = x + chance.to(x.device) + same + flips  # expect: cpu-tensor-then-move@warning
        mixed = mixed + first.to(x.device).sum() + parts.to(x.device).sum()  # expect: cpu-tensor-then-move@warning
        mixed = mixed + draw(x.shape[0], 8).to(x.device).sum()  # expect: cpu-tensor-then-move@warning
        return self.linear(mixed) * eye.sum() + words.sum() + start.sum()


class Actors:
    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.width).to(self.device)  # expect: cpu-tensor-then-move@note

    def values_next(self, state):
        return self.critic(state, torch.eye(self.count).unsqueeze(0).to(self.device))  # expect: cpu-tensor-then-move@note


def lengths_to_mask(lengths, longest):
    return torch.arange(longest).expand(lengths.shape[0], -1).to(lengths.device) < lengths[:, None]  # expect: cpu-tensor-then-move@note
