import torch
from torch.utils import data


class Engine:
    def __init__(self, dataset, network):
        self.device = torch.device("cuda", 0)
        self.network = network.to(self.device)
        self.batches = data.DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=False)  # expect: loader-without-pinned-memory
        self.optimizer = torch.optim.Adam(self.network.parameters())

    def _place(self, batch):
        return tuple(part.to(self.device, non_blocking=True) for part in batch)

    def run(self):
        for batch in self.batches:
            x, y = self._place(batch)
            (self.network(x) - y).square().mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
