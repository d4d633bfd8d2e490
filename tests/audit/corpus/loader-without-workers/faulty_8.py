"""A library's builder asks for no workers unless its caller does, nor do those that hand their argument on."""

from torch.utils.data import DataLoader, Dataset

from pictures import read


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


def get_loader(folder, size, num_workers=0):
    return DataLoader(Pictures(folder), batch_size=size, shuffle=True, num_workers=num_workers)  # expect: loader-without-workers@note


class Tuner:
    def __init__(self, folder):
        self.folder = folder

    def run(self, size, num_workers: int = 0):
        return self.fitted(get_loader(self.folder, size, num_workers=num_workers))
