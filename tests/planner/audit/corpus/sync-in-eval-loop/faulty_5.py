import torch


class Runner:
    """Each runner fills in one batch's work; there is one."""

    def __init__(self, model, loader):
        self.model, self.loader = model.cuda(), loader

    def val_step(self, batch):
        raise NotImplementedError

    @torch.no_grad()
    def val(self):
        self.model.eval()
        for batch in self.loader:
            self.val_step(batch)


class Points(Runner):
    def __init__(self, model, loader):
        super().__init__(model, loader)
        self.losses = []

    def val_step(self, batch):
        points = batch.cuda()
        self.losses.append((self.model(points) - points).square().mean().item())  # expect: sync-in-eval-loop


def validate(model, loader):
    model.eval()
    total = 0
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        total += loss.data[0]  # expect: sync-in-eval-loop
    return total
