from torch import nn
from torch.utils.data import DataLoader


class Wrapper:
    """A framework calls these without history, and one of them goes through loaders of its own."""

    def __init__(self, model: nn.Module):
        self.model = model

    def train_step(self, batch):
        return self.model(batch.cuda()).mean()

    def eval_step(self, sets):
        results = []
        for each in sets:
            for x in DataLoader(each, batch_size=8):
                results.append(self.model(x.cuda()))
        return results
