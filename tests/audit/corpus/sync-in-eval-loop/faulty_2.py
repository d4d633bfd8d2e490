import torch
import torch.nn.functional as F


class Evaluator:
    def __init__(self, model, loader):
        self.model = model.to("cuda")
        self.loader = loader

    def run(self):
        losses = []
        self.model.eval()
        with torch.inference_mode():
            for batch in self.loader:
                batch = {name: value.to("cuda") for name, value in batch.items()}
                out = self.model(batch["input"])
                loss = F.cross_entropy(out, batch["target"])
                losses.append(loss.item())  # expect: sync-in-eval-loop
        return sum(losses) / len(losses)
