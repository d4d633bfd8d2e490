import argparse

from torch.utils.data import DataLoader

import loops
from elsewhere import data_sets, made


def main():
    args = argparse.ArgumentParser().parse_args()
    data = data_sets(args)
    loaders = {
        "train": DataLoader(data[0], 32, num_workers=2, pin_memory=True),
        "extra": DataLoader(data[1], 32, num_workers=2),
    }
    made(args, loaders, getattr(loops, args.mode))
