import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 64)

    @torch.compile
    def forward(self, x):
        return self.body(x).relu()


def main(batches):
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    @torch.compile(fullgraph=True)
    def step(x, y):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for x, y in batches:
        step(x.cuda(), y.cuda())
        optimizer.step()
        optimizer.zero_grad()
