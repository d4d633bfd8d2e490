import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def main(batches):
    model = nn.Sequential(*[Block(1024) for _ in range(24)]).cuda()  # expect: no-compile@note
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for x, y in batches:
        loss = F.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
