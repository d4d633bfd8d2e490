from far import endless
from torch.utils.data import DataLoader


class Trainer:
    """One of the two loaders pins nothing: its copies wait whatever they are told."""

    def __init__(self, labelled, unlabelled, model, optimizer):
        self.loader = endless(DataLoader(labelled, batch_size=64, num_workers=8, pin_memory=True))
        self.more_loader = endless(DataLoader(unlabelled, batch_size=64, num_workers=8))
        self.model, self.optimizer = model.cuda(), optimizer

    def train(self, steps):
        for _ in range(steps):
            images = next(self.loader).cuda(non_blocking=True)
            others = next(self.more_loader).cuda()
            self.model(images, others).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
