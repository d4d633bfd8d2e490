import torch
from torch import nn


class Crops(nn.Module):
    """Slices by numbers that the host has; a tensor made of a tensor asks for nothing."""

    def __init__(self, width, shown):
        super().__init__()
        self.encoder = nn.Conv1d(1, width, 3)
        self.shown = shown

    def forward(self, x, size):
        hidden = self.encoder(x)
        kept = hidden[:, :, : min(size, x.shape[-1])]
        rows = [len(each) for each in hidden]
        return kept, torch.LongTensor(rows)


def train(loader, criterion, size, shown_steps):
    model = Crops(32, True).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step_ndx, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        kept, _ = model(x.cuda(), size)
        loss = criterion(kept, y.cuda())
        loss.backward()
        optimizer.step()
        if step_ndx in shown_steps:
            print(loss.item())
        parts = kept.detach().chunk(2)
        if parts:
            print(len(parts))
