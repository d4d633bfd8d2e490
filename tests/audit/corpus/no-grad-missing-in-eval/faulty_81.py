from contextlib import nullcontext

import torch

from .data import from_elsewhere


def batches(data, device):
    for each in data:
        yield torch.as_tensor(each, device=device)


class Trainer:
    def infer(self, model: torch.nn.Module, loader):
        model.eval()
        context = torch.autocast("cuda") if self.saves_memory else nullcontext()
        total = 0
        with context:
            for x, y in loader:
                total += (model(x.cuda()).argmax(1) == y.cuda()).sum()  # expect: no-grad-missing-in-eval@warning
        return total

    def transform(self, model: torch.nn.Module, data):
        model.eval()
        out = []
        for each in batches(data, self.device):
            out.append(model(each).detach().cpu().numpy())  # expect: no-grad-missing-in-eval@warning
        return out

    def transform_others(self, first: torch.nn.Module, second: torch.nn.Module, data):
        if self.takes_first:
            first.eval()
            model = first
        else:
            second.eval()
            model = second
        out = []
        for each in from_elsewhere(data, self.device):
            out.append(model(each).detach().cpu().numpy())  # expect: no-grad-missing-in-eval@note
        return out
