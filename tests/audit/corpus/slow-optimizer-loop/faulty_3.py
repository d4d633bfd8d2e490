from torch import no_grad
from torch.optim import SGD


class Ema:
    def __init__(self, model, shadow, decay=0.999):
        self.model, self.shadow, self.decay = model, shadow, decay

    @no_grad()
    def update(self):
        for kept, new in zip(self.shadow.parameters(), self.model.parameters(), strict=True):
            kept.mul_(self.decay).add_(new, alpha=1 - self.decay)  # expect: slow-optimizer-loop


def train(model, shadow, loader):
    average = Ema(model.cuda(), shadow.cuda())
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)  # expect: slow-optimizer-loop
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()
