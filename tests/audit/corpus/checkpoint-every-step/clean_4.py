"""Written at a few steps alone, which a list names."""

import torch


class Training:
    def __init__(self, model, steps, checkpoints):
        self.model, self.steps, self.checkpoints = model, steps, checkpoints

    def save(self, step):
        torch.save(self.model.state_dict(), f"{step}.pt")

    def fit(self, loader, optimizer):
        for step, x in enumerate(loader):
            loss = self.model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            if (step % self.steps in self.checkpoints) and (step > 0 or not self.steps):
                self.save(step)


def fit(model, loader, optimizer, milestones):
    step = 0
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        step += 1
        if step not in milestones:
            continue
        torch.save(model.state_dict(), f"{step}.pt")
