import torch
from torch import nn


class Sampler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mean = nn.Linear(width, width)

    def forward(self, x):
        eps = torch.zeros(x.size(0), x.size(1)).to(x.device)  # expect: cpu-tensor-then-move
        return self.mean(x) + torch.ones_like(eps)


class Gan:
    def __init__(self, generator, critic, g_opt):
        self.generator, self.critic, self.g_opt = generator.cuda(), critic.cuda(), g_opt

    def fit(self, loader):
        for real in loader:
            z = torch.rand(real.size(0), 128)
            z = z.cuda()  # expect: cpu-tensor-then-move
            self.g_opt.zero_grad()
            (-self.critic(self.generator(z)).mean()).backward()
            self.g_opt.step()
