import torch


class Trainer:
    """A count that the model gives beside its loss is a number."""

    def __init__(self, model, optimizer):
        self.model = torch.nn.parallel.DistributedDataParallel(model.cuda())
        self.optimizer = optimizer

    def run(self, loader):
        total_loss, total_count = 0.0, 0
        for batch in loader:
            loss, sample_count = self.model(batch)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            total_loss += loss.detach()
            total_count += sample_count
        return total_loss / total_count
