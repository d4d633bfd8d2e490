"""Models whose loss a trainer that is not here asks for, batch by batch."""

import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self, config, items):
        super().__init__()
        self.embedding = nn.Embedding(items, config["width"])
        self.loss_fct = nn.CrossEntropyLoss()
        self.table = None

    def forward(self, sequence, lengths):
        longest = lengths.max().item()  # expect: sync-every-step@note
        return self.embedding(sequence[:, :longest]).mean(1)

    def calculate_loss(self, interaction):
        sequence, lengths = interaction["items"], interaction["length"]
        chosen = []
        for each in interaction["user"].cpu().tolist():  # expect: sync-every-step@note
            chosen.append(self.pick(each))
        scores = self.forward(sequence, lengths) @ self.embedding.weight.T
        loss = self.loss_fct(scores, interaction["next"])
        self.last = float(loss)  # expect: sync-every-step@note
        return loss

    def pick(self, user):
        return user % 3

    def full_sort_predict(self, interaction):
        return self.forward(interaction["items"], interaction["length"]).cpu().numpy()


class Agent:
    """Its owner calls `update` with what it has seen."""

    def __init__(self, critic, optimizer):
        self.critic, self.optimizer = critic, optimizer
        self.history = []

    def update_critic(self, batch):
        value = self.critic(batch["state"]).squeeze()
        loss = (value - batch["target"]).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.detach().cpu().numpy())  # expect: sync-every-step

    def remember(self, state):
        self.history.append(state.cpu().numpy())
