import torch
from torch.utils.data import DataLoader


class Runner:
    """Which device it is, somebody else says; moving batches there says enough."""

    def __init__(self, dataset, model, device, workers):
        self.device = device
        self.model = model.to(self.device)
        self.loader = DataLoader(dataset, batch_size=64, num_workers=workers)  # expect: loader-without-pinned-memory
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def run(self):
        for x in self.loader:
            loss = self.model(x.to(self.device)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
