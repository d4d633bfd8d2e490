"""A step that asks for the optimizer which was made before is a step all the same."""

import torch


class Learner:
    def __init__(self, model):
        self.model = model.to("cuda")
        self.optimizer = torch.optim.Adam(model.parameters())

    def get_optimizer(self):
        return self.optimizer

    def learn_batch(self, x):
        optimizer = self.get_optimizer()
        loss = self.model(x.to("cuda")).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item() + loss.sqrt().item()  # expect: sync-every-step@warning
