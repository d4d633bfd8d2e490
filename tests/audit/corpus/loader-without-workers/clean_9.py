"""The like of that, where somebody asks for some, or nobody knows."""

import argparse
import os
from dataclasses import dataclass

from torch.utils.data import DataLoader

from pictures import Pictures


@dataclass
class Settings:
    size: int = 32
    loader_workers: int = 0


USUAL = Settings(loader_workers=8)


class Trainer:
    def __init__(self, folder, workers=0, **options):
        self.folder, self.options = folder, options
        self.workers = workers

    def loader(self):
        return DataLoader(Pictures(self.folder), batch_size=32, num_workers=self.workers)

    def other(self):
        return DataLoader(Pictures(self.folder), num_workers=self.options.get("workers", 4))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-workers", "-j", type=int, default=4)
    parser.add_argument("--more", type=int)
    run(parser.parse_args())
    return Trainer("train", 8).loader()


def run(args):
    return DataLoader(Pictures(args.folder), num_workers=args.data_workers), DataLoader([], num_workers=args.more)


def of_settings(given):
    return DataLoader(Pictures(given.folder), num_workers=given.loader_workers)


def of_machine(folder, on_device):
    count = 0
    if on_device:
        count = 4
    some = DataLoader(Pictures(folder), num_workers=int(os.environ["WORKERS"]))
    return some, DataLoader(Pictures(folder), num_workers=count)
