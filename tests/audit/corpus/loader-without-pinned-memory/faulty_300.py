import torch
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    """Speaks of a device, though its items lie on the host."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        data = torch.load(self.paths[index], map_location="cpu")
        torch.cuda.empty_cache()
        return data


def train(model, optimizer, paths):
    model.cuda()
    for x, y in DataLoader(Clips(paths), batch_size=8):  # expect: loader-without-pinned-memory@note
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
