import numpy as np
import torch


class Step:
    def __init__(self, net, optimizer, watcher, device):
        self.net = net.to(device)
        self.optimizer = optimizer
        self.watcher = watcher.to(device)
        self.device = device
        self.mean = None

    def centre(self, x):
        if self.mean is None:
            self.mean = np.mean(self.net.embed(x).cpu().numpy(), axis=0)
        return x - torch.from_numpy(self.mean).to(self.device)

    def run(self, loader):
        for batch in loader:
            batch = batch.to(self.device, non_blocking=True)
            for name in batch.names:
                if name == "unlabelled":
                    continue
            by_source = {name: self.net.heads[name] for name in batch["source_name"] if name}
            loss = self.net(self.centre(batch.images)).mean() + len(by_source)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if bool(self.watcher and not self.watcher.disabled):
                self.watcher.update("loss", loss.detach())
