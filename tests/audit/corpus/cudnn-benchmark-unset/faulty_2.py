import torch
from torch import nn

device = "cuda"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.LazyLinear(10)

    def forward(self, x):
        return self.head(self.body(x))


def train(loader, epochs):
    net = Net().to(device)
    opt = torch.optim.Adadelta(net.parameters())
    for _ in range(epochs):
        for x, y in loader:  # expect: cudnn-benchmark-unset@note
            opt.zero_grad()
            nn.functional.nll_loss(net(x.to(device)).log_softmax(1), y.to(device)).backward()
            opt.step()
