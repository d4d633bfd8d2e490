import torch
from helpers import loss_parts, reduced


class Trainer:
    """Sums start as numbers and are asked whether they became tensors; what was asked is read all the same."""

    def __init__(self, model, optimizer, device, criterion):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.device = device
        self.criterion = criterion
        self.shown = {}

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            output = self.model(x.to(self.device))
            loss = self.criterion(output, y.to(self.device))
            loss.backward()
            self.optimizer.step()
            self.tell(0.0)
            extra = 0.0
            self.shown["extra"] = extra.item() if torch.is_tensor(extra) else extra  # expect: sync-every-step@note

    def tell(self, total):
        if isinstance(total, torch.Tensor):
            value = total.detach().item()  # expect: sync-every-step@note
        else:
            value = float(total)
        if hasattr(total, "item") and value > 0.0:
            value = total.item()  # expect: sync-every-step@note
        if type(total) == torch.Tensor:
            value = total.item()  # expect: sync-every-step@note
        self.shown["loss"] = value


def detect(model, optimizer, loader, writer):
    """The parts of a loss, of a function that nobody sees."""
    for images, targets in loader:
        loss, loss_components = loss_parts(model(images.cuda()), targets.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        writer.log("box", float(loss_components[0]))  # expect: sync-every-step@note
        writer.log("kind", float(reduced(loss_components)[0]))
