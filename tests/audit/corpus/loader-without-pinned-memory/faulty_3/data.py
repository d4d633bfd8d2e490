from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10


def train_loader(root, transform, batch):
    return DataLoader(CIFAR10(root, transform=transform), batch, shuffle=True, num_workers=6)  # expect: loader-without-pinned-memory
