import random

import torch


class Mixer:
    """Which way a step goes is drawn anew each time: both make their noise on the host."""

    def __init__(self, generator, device, width):
        self.generator = generator.to(device)
        self.device = device
        self.width = width

    def latents(self, n):
        if random.random() < 0.9:
            first = torch.randn(n, self.width).to(self.device)  # expect: cpu-tensor-then-move@note
            return self.generator(first)
        return self.generator(torch.zeros(n, self.width, device=self.device))

    def train(self, loader, optimizer, n):
        for real in loader:
            loss = (self.latents(n) - real.to(self.device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
