import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("places", torch.arange(width).view(1, -1))
        self.layer = nn.Linear(width, width)

    def forward(self, x, lengths, rows):
        places = torch.arange(x.size(1), device=x.device).view(1, -1).to(x.dtype)
        like = torch.zeros_like(x).to(x.device)
        lengths = (torch.tensor(lengths) * 2).to(x.device)
        rows = torch.stack([torch.as_tensor(row) for row in rows]).clamp(0, 1).to(x.device)
        return self.layer(x) + places + like, lengths, rows


def train(model, loader, optimizer, device):
    eye = (torch.eye(16) * 2).clamp(0, 1)
    eye = eye.to(device)
    for x, lengths in loader:
        noise = torch.randn_like(x).mul(0.1)
        loss = model((x + noise).to(device), lengths, [])[0].sum() + eye.sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
