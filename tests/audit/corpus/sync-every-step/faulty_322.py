"""Batches lie where the model does, so that nobody moves them: what is differentiated is on the device with it."""

import torch
from torch.utils.data import DataLoader, TensorDataset


class Learner:
    def __init__(self, agent, optimizer, logger, device="cuda"):
        self.agent, self.optimizer, self.logger, self.device = agent, optimizer, logger, device

    def update(self, rollout):
        for observation, action, before, advantage in DataLoader(TensorDataset(*rollout), 64):
            now = self.agent.actor.log_probability(observation, action)
            ratio = torch.exp(now - before)
            loss = -(ratio * advantage).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.logger.store(policy=loss.mean().item())  # expect: sync-every-step
