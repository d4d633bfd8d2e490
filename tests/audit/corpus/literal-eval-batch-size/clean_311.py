import torch
from torch.utils.data import DataLoader


def loaders(data, configs):
    found = {}
    for split in data:
        found[split] = DataLoader(
            data[split],
            batch_size=1 if configs.debug else configs.batch_size,
            num_workers=configs.workers,
        )
    return found


class Learner:
    def fit(self, series):
        """One series at a time, in training as well."""
        optimizer = torch.optim.Adam(self.net.parameters())
        for x in DataLoader(series, batch_size=1, shuffle=True):
            loss = self.net(x.to(self.device)).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
