from torch.utils.data import DataLoader, Dataset
from torchvision.io import read_image


class Frames(Dataset):
    def __init__(self, files, augment):
        self.files, self.augment = files, augment

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.augment(read_image(self.files[i]))


NUM_WORKERS = 1


class Data:
    def __init__(self, files, augment):
        self.train = DataLoader(Frames(files, augment), 64, shuffle=True, num_workers=NUM_WORKERS)  # expect: loader-few-workers


def fit(data, model, optimizer):
    for x in data.train:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
