import torch
import tqdm
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model.cuda()
        self.optimizer = optimizer

    def train(self, data, epoch):
        return self.iteration(data, epoch)

    def iteration(self, data, epoch):
        numbered = tqdm.tqdm(enumerate(data), desc=f"epoch {epoch}", total=len(data))
        for _, batch in numbered:
            loss = self.model(batch.cuda()).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main(dataset, model):
    loader = DataLoader(dataset, batch_size=32, num_workers=4)  # expect: loader-not-persistent
    trainer = Trainer(model, torch.optim.Adam(model.parameters()))
    for epoch in range(10):
        trainer.train(loader, epoch)
