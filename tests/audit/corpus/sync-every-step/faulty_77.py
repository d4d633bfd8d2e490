import torch
from torch.nn import functional


class Agent:
    """Every few calls one step: what each step reads is read in each step, and nothing between them is slow."""

    def __init__(self, network, optimizer, buffer, every=4):
        self.network = network.to("cuda")
        self.optimizer = optimizer
        self.buffer = buffer
        self.every = every
        self.calls = 0

    def train(self):
        self.calls += 1
        if self.calls % self.every != 0:
            return 0.0
        states, targets = self.buffer.sample(32)
        loss = functional.mse_loss(self.network(states.to("cuda")), targets.to("cuda"))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()  # expect: sync-every-step@note


class EnergyLoss:
    def __init__(self, critic, margin):
        self.critic = critic
        self.margin = margin

    def __call__(self, batch, made):
        loss = self.critic(batch) + functional.relu(self.margin - self.critic(made))
        return loss, {"energy": loss.mean().item()}  # expect: sync-every-step@note


def explore(agent, critic, env, steps):
    """Every tenth turn is looked at; the steps are not thinned out."""
    for step in range(steps):
        loss = critic(torch.as_tensor(env.observe()).cuda()).mean()
        agent.optimizer.zero_grad()
        loss.backward()
        agent.optimizer.step()
        if step % 10 == 0:
            print(loss.item())


class Adversary:
    def __init__(self, network, losses, optimizer, limit):
        self.network = network.cuda()
        self.losses = losses
        self.optimizer = optimizer
        self.limit = limit

    def _loss(self, real):
        loss_fake = self.losses["fake"](self.network(real))
        if loss_fake < self.limit:  # expect: sync-every-step@note
            loss_fake = self.limit - loss_fake
        return loss_fake

    def fit(self, loader, epochs):
        best_loss = 1e9
        for _ in range(epochs):
            for real in loader:
                loss = self._loss(real.cuda())
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            mean_loss = self.losses.mean()
            if mean_loss < best_loss:
                best_loss = mean_loss
