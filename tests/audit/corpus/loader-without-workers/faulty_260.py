import cv2
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return cv2.imread(self.paths[index])


class Loader(DataLoader):
    @classmethod
    def of_settings(cls, dataset, settings):
        return cls(dataset, settings.batch_size, shuffle=settings.shuffle)  # expect: loader-without-workers


def loader(settings, paths):
    return Loader.of_settings(Pictures(paths), settings)
