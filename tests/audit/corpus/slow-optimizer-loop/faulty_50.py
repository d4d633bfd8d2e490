import torch
from torch import nn


def train(loader, device):
    model = nn.Linear(3, 3).to(device)
    critic = nn.Linear(3, 1).to(device)
    optimizer = torch.optim.Adam([*model.parameters(), *critic.parameters()])
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        for each in model.parameters():
            each.grad.data.clamp_(-1, 1)  # expect: slow-optimizer-loop
        for each in critic.parameters():
            each.grad = torch.clamp(each.grad, -1, 1)  # expect: slow-optimizer-loop
        optimizer.step()
        for each in critic.parameters():
            each.data.clamp_(-0.01, 0.01)  # expect: slow-optimizer-loop


class Copy:
    def __init__(self, model, copied):
        self.model, self.copied = model, copied

    def alpha_sync(self, alpha):
        ours = self.model.state_dict()
        theirs = self.copied.state_dict()
        for name, value in ours.items():
            theirs[name] = theirs[name] * alpha + (1 - alpha) * value  # expect: slow-optimizer-loop
        self.copied.load_state_dict(theirs)
