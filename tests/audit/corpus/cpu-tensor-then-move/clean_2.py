import numpy as np
import torch


def train(policy, environment, optimizer, device, steps):
    """What comes from the host must travel; there is nothing to create in place."""
    state = environment.reset()
    for _ in range(steps):
        observation = torch.from_numpy(state).float().to(device)
        rewards = torch.tensor(environment.rewards, dtype=torch.float32).to(device)
        action = policy(observation)
        state = environment.step(np.asarray(environment.sample()))
        loss = -(action * rewards).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
