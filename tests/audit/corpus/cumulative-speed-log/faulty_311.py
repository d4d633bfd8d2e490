import time

import torch


class Trainer:
    def __init__(self, model, writer):
        self.model, self.writer = model, writer
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.seen, self.spent, self.step = 0, 0.0, 0

    def fit(self, loader):
        """Both only ever grow: what is shown is the mean of the whole run."""
        for x, y in loader:
            start = time.time()
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.seen += x.shape[0]
            self.spent += time.time() - start
            self.step += 1
            self.writer.add_scalar("speed", self.seen / self.spent, self.step)  # expect: cumulative-speed-log
