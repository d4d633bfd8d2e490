import torch.utils.data as tud
from PIL import Image


class Photos(tud.Dataset):
    def __init__(self, paths, transform):
        self.paths, self.transform = paths, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]).convert("RGB"))


def make(paths, transform, sampler):
    train = tud.DataLoader(Photos(paths, transform), batch_size=64, sampler=sampler, num_workers=0, pin_memory=True)  # expect: loader-without-workers
    return train


def run(model, optimizer, loader):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
