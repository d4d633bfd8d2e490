import torch
from helpers import penalty


class Trainer:
    """A part of the loss that is a number unless somebody wants it: numbers are not detached, nor moved."""

    def __init__(self, model, optimizer, criterion, weighted, writer):
        self.model = model.cuda()
        self.optimizer = optimizer
        self.criterion = criterion
        self.weighted = weighted
        self.writer = writer

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            extra = 0
            loss = self.criterion(self.model(x.cuda()), y.cuda())
            if self.weighted:
                extra = penalty(self.model)
            torch.add(loss, extra).backward()
            self.optimizer.step()
            self.writer.put("extra", extra.detach().item())  # expect: sync-every-step@note
            self.writer.put("again", extra.cpu())  # expect: sync-every-step@note
            self.writer.put("perhaps an array's", extra.item())
            self.writer.put("once", loss.detach().cpu().numpy().item())  # expect: sync-every-step@note
