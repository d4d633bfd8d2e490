import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model.cuda(), optimizer

    def train(self, loader):
        self.model.train()
        return self.run(loader)

    def evaluate(self, loader):
        self.model.eval()
        return self.run(loader, train=False)

    def run(self, loader, train=True):
        total = torch.zeros((), device="cuda")
        for images, labels in loader:  # expect: no-grad-missing-in-eval@warning
            loss = torch.nn.functional.cross_entropy(self.model(images.cuda()), labels.cuda())
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            total += loss.detach()
        return total / len(loader)


def run_epoch(model, loader, optimizer=None):
    for images, labels in loader:  # expect: no-grad-missing-in-eval@warning
        loss = model(images.cuda(), labels.cuda()).mean()
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main(model, train_loader, test_loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(10):
        run_epoch(model, train_loader, optimizer)
        run_epoch(model, test_loader)
