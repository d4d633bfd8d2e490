import torch


class Accuracy:
    """A metric that every training step asks."""

    def update(self, output, target):
        found = output.topk(self.most, 1)[1]
        correct = found.eq(target.view(-1, 1).expand_as(found))
        self.kept.append(float(correct.float().sum().mul_(100.0 / len(target))))  # expect: sync-every-step@note


def train(model, loader, optimizer):
    for x, labels in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        broken = torch.nonzero(loss.isnan())  # expect: sync-every-step
        if len(broken) > 0:
            print("broken")
        if torch.nonzero(loss == 0).size(0) > 0:  # expect: sync-every-step
            print("nothing left")
