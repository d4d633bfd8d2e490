import torch
import torch.nn as nn


class Transformer(nn.Module):
    """Matrix products: there is no convolution to choose an algorithm for."""

    def __init__(self, width):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, 8)

    def forward(self, x):
        return self.layer(x)


def train(loader):
    model = Transformer(512).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
