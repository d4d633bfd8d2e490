import torch
from torch.utils.data import DataLoader


class Trainer:
    """Both loaders go through one function."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model.cuda(), optimizer

    def run(self, data, train):
        for batch in data:
            with torch.set_grad_enabled(train):
                loss = self.model(batch.cuda()).mean()
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def main(dataset, folds, model):
    for mine, others in folds:
        loader = DataLoader(dataset[mine], batch_size=32, num_workers=2)  # expect: loader-not-persistent
        others_loader = DataLoader(dataset[others], batch_size=32, num_workers=2)  # expect: loader-not-persistent
        once_loader = DataLoader(dataset, batch_size=32, num_workers=2)
        trainer = Trainer(model, torch.optim.Adam(model.parameters()))
        for _ in range(10):
            trainer.run(loader, True)
            trainer.run(others_loader, False)
        trainer.run(once_loader, False)
