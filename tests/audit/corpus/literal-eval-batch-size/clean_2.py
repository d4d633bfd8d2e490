import torch
from torch.utils.data import DataLoader

BATCH_SIZE = 256


def loaders(train_set, test_set):
    """One constant for both."""
    return DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True), DataLoader(test_set, batch_size=BATCH_SIZE)


def plain(train_set, val_set):
    """Literals on both sides: nothing says that they are meant to follow a configuration."""
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)
    return train_loader, val_loader
