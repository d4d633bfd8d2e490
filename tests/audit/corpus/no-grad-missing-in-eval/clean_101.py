import torch
from torch import nn


class Runner:
    def __init__(self, model, optimizer, criterion, loaders):
        self.model = model.cuda()
        self.optimizer = optimizer
        self.criterion = criterion
        self.loaders = loaders
        self.phase = "train"

    def one(self, x, y):
        with torch.set_grad_enabled(self.phase == "train"):
            self.guess = self.model(x.cuda())
            self.loss = self.criterion(self.guess, y.cuda())
        if self.phase != "train":
            return
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()

    def fit(self, epochs):
        for _ in range(epochs):
            self.model.train()
            self.phase = "train"
            for x, y in self.loaders["train"]:
                self.one(x, y)
            self.model.eval()
            self.phase = "held"
            for x, y in self.loaders["held"]:
                self.one(x, y)


class Teacher(nn.Module):
    def __init__(self, network, optimizer, criterion):
        super().__init__()
        self.network = network
        self.optimizer = optimizer
        self.criterion = criterion

    def forward(self, batch):
        x, y = batch
        loss = self.criterion(self.network(x), y)
        if self.training:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return {"loss": float(loss)}


def main(network, optimizer, criterion, train_loader, held_loader):
    teacher = Teacher(network, optimizer, criterion).cuda()
    while True:
        for batch in train_loader:
            teacher(batch)
        teacher.eval()
        with torch.no_grad():
            for batch in held_loader:
                print(teacher(batch))
        teacher.train()


def tune(network, criterion, held_loader, optimizer):
    network.eval()  # whose statistics stay as they are, while its weights are tuned
    for x, y in held_loader:
        loss = criterion(network(x.cuda()), y.cuda())
        if loss > 0:
            loss.backward()
            optimizer.step()
