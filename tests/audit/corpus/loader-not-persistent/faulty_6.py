import torch
import tqdm
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, train_loader, test_loader=None):
        self.model = model.cuda()
        self.train_data, self.test_data = train_loader, test_loader
        self.optimizer = torch.optim.Adam(model.parameters())

    def train(self, epoch):
        self.iteration(epoch, self.train_data)

    def test(self, epoch):
        with torch.no_grad():
            self.iteration(epoch, self.test_data, train=False)

    def iteration(self, epoch, loader, train=True):
        for _, batch in tqdm.tqdm(enumerate(loader), desc=f"epoch {epoch}"):
            loss = self.model(batch.cuda()).mean()
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def main(dataset, test_set, model, epochs, workers):
    train_loader = DataLoader(dataset, batch_size=64, num_workers=workers)  # expect: loader-not-persistent
    test_loader = DataLoader(test_set, batch_size=64, num_workers=workers)  # expect: loader-not-persistent
    trainer = Trainer(model, train_loader=train_loader, test_loader=test_loader)
    for epoch in range(epochs):
        trainer.train(epoch)
        trainer.test(epoch)
