import numpy as np
import torch
from torch import nn


class Forecaster:
    def __init__(self, width, batch_size, device):
        self.device = device
        self.batch_size = batch_size
        self.net = nn.LSTM(width, 64).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def train_epoch(self, x, y):
        self.net.train()
        order = np.random.permutation(len(x))
        for i in range(len(order))[:: self.batch_size]:
            rows = order[i : i + self.batch_size]
            guess, _ = self.net(torch.from_numpy(x[rows]).to(self.device))
            loss = nn.functional.mse_loss(guess, torch.from_numpy(y[rows]).to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def test_epoch(self, x, y):
        self.net.eval()
        losses = []
        rows = np.arange(len(x))
        for i in range(len(rows))[:: self.batch_size]:
            guess, _ = self.net(torch.from_numpy(x[rows[i : i + self.batch_size]]).to(self.device))  # expect: no-grad-missing-in-eval@warning
            truth = torch.from_numpy(y[rows[i : i + self.batch_size]]).to(self.device)
            losses.append(nn.functional.mse_loss(guess, truth).item())
        return np.mean(losses)
