"""Which function is a step is chosen while running; one that is called by nobody may run once."""

import torch.nn.functional as F


class Runner:
    def __init__(self, model, optimizers, loader):
        self.model = model.cuda()
        self.first, self.second = optimizers
        self.loader = loader
        self.ways = {"one": self._one, "two": self._two}

    def _one(self, picture):
        loss = F.mse_loss(self.model(picture), picture)
        self.first.zero_grad()
        loss.backward()
        self.first.step()
        return loss.item()  # expect: sync-every-step@note

    def _two(self, picture):
        loss = F.l1_loss(self.model(picture), picture)
        self.second.zero_grad()
        loss.backward()
        self.second.step()
        return {"loss": float(loss), "width": loss.max().item()}  # expect: sync-every-step@warning, sync-every-step@warning

    def run(self, wanted):
        for picture in self.loader:
            for each in wanted:
                self.ways[each](picture.cuda())


def once(model, picture, optimizer):
    loss = F.mse_loss(model(picture.cuda()), picture.cuda())
    loss.backward()
    optimizer.step()
    print(loss.item())  # expect: sync-every-step@note
