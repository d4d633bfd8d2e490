from random import random

import torch


def one_style(n, size, device):
    return [torch.randn(n, size).cuda(device)]  # expect: cpu-tensor-then-move@warning


def two_styles(n, size, device):
    return one_style(n // 2, size, device) + one_style(n - n // 2, size, device)


def grain(n, size, device):
    return torch.FloatTensor(n, size, size, 1).uniform_(0.0, 1.0).cuda(device)  # expect: cpu-tensor-then-move@warning


def train(generator, critic, optimizer, steps, size, device="cuda"):
    for _ in range(steps):
        styles = two_styles if random() < 0.9 else one_style
        made = generator(styles(16, size, device), grain(16, size, device))
        loss = critic(made).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        penalty = torch.tensor(0.0).to(device)  # expect: cpu-tensor-then-move@note
        loss = loss + penalty
