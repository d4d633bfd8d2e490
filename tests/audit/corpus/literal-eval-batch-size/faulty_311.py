import torch
from torch.utils.data import DataLoader


def loaders(data, configs):
    found = {}
    for split in data:
        found[split] = DataLoader(
            data[split],
            batch_size=configs.batch_size if split == "train" else 1,  # expect: literal-eval-batch-size
            num_workers=configs.workers,
        )
    return found


def evaluate(net, scenes, device):
    batch_size = 1  # expect: literal-eval-batch-size
    hits = 0
    with torch.no_grad():
        for x, y in DataLoader(scenes, batch_size=batch_size):
            hits = hits + (net(x.to(device)).argmax(1) == y.to(device)).sum()
    return hits


class Detector:
    def detect(self, series):
        """Whatever it is called: what goes through it evaluates."""
        self.net.eval()
        windows = DataLoader(series, batch_size=1)  # expect: literal-eval-batch-size
        scores = []
        with torch.no_grad():
            for x in windows:
                scores.append(self.net(x.to(self.device)))
        return torch.cat(scores)

    def fit(self, series):
        optimizer = torch.optim.Adam(self.net.parameters())
        for x in DataLoader(series, batch_size=self.batch_size, shuffle=True):
            loss = self.net(x.to(self.device)).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
