import torch

from network import Mixer


def main(loader, epochs):
    net = Mixer(512, 12)  # expect: no-compile@note
    net = net.to("cuda")
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(x.to("cuda")), y.to("cuda")).backward()
            opt.step()
