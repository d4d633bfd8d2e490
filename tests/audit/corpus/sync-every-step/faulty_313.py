import torch
from torch.nn.utils import clip_grad_norm_


class Trainer:
    def __init__(self, model, skip_norm=None, most=1.0):
        self.model = model.cuda()
        self.most = most
        self.skips = skip_norm
        self.optimizer = torch.optim.AdamW(model.parameters())

    def fit(self, loader):
        """The norm is read where somebody asks to skip steps by it, which nobody does here; the loss always."""
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            norm = clip_grad_norm_(self.model.parameters(), self.most)
            if not self.skips or norm.item() <= self.skips:  # expect: sync-every-step@note
                self.optimizer.step()
            total += loss.item()  # expect: sync-every-step@warning
            print(f"{loss.item():.3f}")  # expect: sync-every-step@warning
        return total
