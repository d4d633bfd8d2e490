import torch
from torch import nn


class Agent:
    """Its steps are called from elsewhere; what it does next goes back to who asked."""

    def __init__(self, model: nn.Module, optimizer, device):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.device = device

    def train_step(self, seen, value):
        out = self.model(seen.to(self.device))
        loss = nn.functional.mse_loss(out.mean(), value.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        print(float(loss))  # expect: sync-every-step@note
        return out.argmax(dim=-1).cpu().numpy()  # expect: sync-every-step@note
