import torch


class Runner:
    def __init__(self, net, train_dl, val_dl):
        self.net, self.train_dl, self.val_dl = net.cuda(), train_dl, val_dl
        self.opt = torch.optim.Adam(self.net.parameters())

    def _score(self, batch):
        x, y = batch
        return torch.nn.functional.mse_loss(self.net(x.cuda()), y.cuda())

    def validate(self):
        self.net.eval()
        losses = []
        for batch in self.val_dl:  # expect: no-grad-missing-in-eval
            losses.append(self._score(batch).detach())
        self.net.train()
        return torch.stack(losses).mean()

    def train(self):
        for batch in self.train_dl:
            self.opt.zero_grad()
            self._score(batch).backward()
            self.opt.step()
        return self.validate()
