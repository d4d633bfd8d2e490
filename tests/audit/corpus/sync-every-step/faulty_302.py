import torch
from helpers import collected, table
from torch import nn


class Crops(nn.Module):
    """Slices end where a tensor on the device says, and a list of such numbers becomes a tensor again."""

    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Conv1d(1, width, 3)

    def forward(self, x, size):
        hidden = self.encoder(x)
        starts = hidden.mean((1, 2)).long()
        kept = torch.zeros_like(hidden[:, :, :size])
        for i in range(x.size(0)):
            kept[i] = hidden[i, :, starts[i] : starts[i] + size]  # expect: sync-every-step@note
        lengths = [each.sum() for each in hidden]
        return kept, torch.LongTensor(lengths)  # expect: sync-every-step@warning


def train(loader, criterion, size):
    model = Crops(32).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        kept, _ = model(x.cuda(), size)
        loss = criterion(kept, y.cuda())
        broken = torch.isnan(loss)
        if not broken:  # expect: sync-every-step@warning
            loss.backward()
        optimizer.step()


def compared(loader, criterion, students, optimizers, metric):
    """Several learners take their steps for each batch; what is read behind them is read for each batch, too."""
    for student in students:
        student.cuda()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        losses = [criterion(student(x), y) for student in students]
        for i, loss in enumerate(losses):
            optimizers[i].zero_grad()
            loss.backward()
            found = [p.grad for group in optimizers[i].param_groups for p in group["params"]]
            if all(each is None or torch.isfinite(each).all() for each in found):  # expect: sync-every-step@note
                optimizers[i].step()
        scores = torch.stack(losses).detach()
        metric.add_batch(predictions=scores, references=table(y))  # expect: sync-every-step@warning
        collected(scores.mean().item())  # expect: sync-every-step@warning
