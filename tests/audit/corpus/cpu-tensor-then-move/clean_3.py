import torch


class Positions(torch.nn.Module):
    def __init__(self, length, device):
        super().__init__()
        self.register_buffer("table", torch.arange(length).to(device))
        self.start = torch.zeros(1, 16).to(device)

    def forward(self, x):
        return x + self.table[: x.size(1), None].to(x.dtype)


def train(model, loader, optimizer, epochs, device):
    for _ in range(epochs):
        total = torch.zeros(()).to(device)
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            seeded = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)).to(torch.float64)
        print(total.item(), seeded.mean())
