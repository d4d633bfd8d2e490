import torch
from torch import nn


class Agent(nn.Module):
    """Its parts are no models of their own, though each is called by itself."""

    def __init__(self, size, actions):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Linear(size, actions)

    def value(self, x):
        return self.critic(x)

    def both(self, x):
        return self.actor(x), self.critic(x)


def train(agent, optimizer, batches):
    for batch in batches:
        chances, values = agent.both(batch.cuda())
        loss = chances.mean() + values.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(batches):
    agent = torch.load("agent.pt")
    assert isinstance(agent, Agent)
    train(agent, torch.optim.Adam(agent.parameters()), batches)
