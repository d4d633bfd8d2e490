import numpy as np
import torch


def train(model, memory, optimizer, steps, device="cuda"):
    """What comes from the host's memory must be copied."""
    zero = torch.tensor(0.0).to(device)
    for _ in range(steps):
        states, rewards = memory.sample(64)
        states = torch.FloatTensor(np.stack(states)).to(device)
        rewards = torch.tensor(rewards).to(device)
        loss = (model(states) - rewards).square().mean() + zero
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
