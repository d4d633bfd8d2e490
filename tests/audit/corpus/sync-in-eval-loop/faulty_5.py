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


def area(boxes):
    return sum((each[0] * each[1]).item() for each in boxes)  # expect: sync-in-eval-loop@note


@torch.no_grad()
def evaluate_boxes(model, loader):
    model.eval()
    found, seen = [], []
    for images in loader:
        boxes = model(images.cuda())
        found.append(area(boxes))
        for each in boxes:
            seen.append(each.sum().item())  # expect: sync-in-eval-loop@warning
    return found, seen
