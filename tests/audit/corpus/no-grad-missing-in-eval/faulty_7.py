import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader


class Synthesizer:
    def __init__(self, width, batch_size):
        self.width, self.batch_size = width, batch_size
        self._device = torch.device("cuda")

    def fit(self, dataset):
        self.decoder = nn.Sequential(nn.Linear(self.width, 64), nn.ReLU(), nn.Linear(64, 8)).to(self._device)
        optimizer = optim.Adam(self.decoder.parameters())
        for batch in DataLoader(dataset, batch_size=self.batch_size, shuffle=True):
            loss = (self.decoder(batch.to(self._device)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def sample(self, samples):
        self.decoder.eval()
        steps = samples // self.batch_size + 1
        data = []
        for _ in range(steps):
            noise = torch.randn(self.batch_size, self.width).to(self._device)
            fake = self.decoder(noise)  # expect: no-grad-missing-in-eval@warning
            fake = torch.tanh(fake)
            data.append(fake.detach().cpu().numpy())
        return np.concatenate(data)[:samples]

    def encode(self, rows):
        rows = torch.as_tensor(rows).to(self._device)
        codes = self.decoder(rows)  # expect: no-grad-missing-in-eval@note
        return codes.detach().cpu().numpy()
