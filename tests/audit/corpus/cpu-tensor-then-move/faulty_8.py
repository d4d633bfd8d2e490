import numpy as np
import torch
from torch import nn
from torch.autograd import Variable


class Encoder(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.width = width
        self.rnn = nn.GRU(width, width)
        self.table = nn.Embedding(length, width)

    def init_hidden(self, size):
        return torch.zeros(1, size, self.width).to(self.table.weight.device)  # expect: cpu-tensor-then-move@warning

    def forward(self, x):
        hidden = self.init_hidden(x.size(1))
        places = torch.arange(x.size(0)).type_as(x)  # expect: cpu-tensor-then-move@note
        first = Variable(torch.zeros(x.size(1), self.width)).cuda()  # expect: cpu-tensor-then-move@warning
        mask = torch.tril(torch.ones(x.size(0), x.size(0)))
        mask = (mask == 0).long()
        mask = mask.to(x.device)  # expect: cpu-tensor-then-move@warning
        noise = torch.from_numpy(np.random.randn(x.size(0), self.width)).float().to(x.device)  # expect: cpu-tensor-then-move@warning
        return self.rnn(x + places + first + noise, hidden), mask
