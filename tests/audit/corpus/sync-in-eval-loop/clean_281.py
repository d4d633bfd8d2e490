import torch


class Solver:
    """What is run every so many steps goes through the checkpoints of a folder, and what a caller asks to be given."""

    def __init__(self, model, criterion, optimizer, device):
        self.model = model.to(device)
        self.criterion = criterion
        self.optimizer = optimizer
        self.device = device

    def fit(self, loader, folder, every):
        for step, batch in enumerate(loader):
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(batch.to(self.device)))
            loss.backward()
            self.optimizer.step()
            if step % every == 0:
                self.tidy(folder)

    def tidy(self, folder):
        for path in sorted(folder.glob("*.pt")):
            kept = torch.load(path)
            print(path, kept["loss"].item())

    def predict(self, net, loader):
        return [each for batch in loader for each in net.predict_step(batch).tolist()]
