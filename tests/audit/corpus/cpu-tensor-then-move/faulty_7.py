import torch
import torch.nn as nn

import platform_tools


def sample_noise(actions, scale, limit):
    return (torch.randn_like(actions) * scale).clamp(-limit, limit)


class Agent:
    def __init__(self, actor, critic, cfg):
        self.actor, self.critic, self.cfg = actor, critic, cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.optimizer = torch.optim.Adam(critic.parameters())

    def update(self, buffer, steps):
        for _ in range(steps):
            states, actions = buffer.sample(self.cfg.batch)
            noise = (torch.randn(self.cfg.batch, self.cfg.actions) * 0.2).clamp(-0.5, 0.5)
            future = self.actor(states) + noise.to(self.device)  # expect: cpu-tensor-then-move@warning
            weights = torch.ones(len(states)).unsqueeze(-1).to(platform_tools.get_device())  # expect: cpu-tensor-then-move@warning
            steps = torch.arange(0, self.cfg.batch).view(-1, 1)
            steps = steps.repeat(1, 2).to(states.device)  # expect: cpu-tensor-then-move@warning
            loss = (weights * self.critic(states, future, steps)).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
