import torch
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    """Empties the cache for each sample, whichever process makes it."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        data = torch.load(self.paths[index], map_location="cpu")
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@note
        return data


def loader_of(paths):
    return DataLoader(Clips(paths), batch_size=8)
