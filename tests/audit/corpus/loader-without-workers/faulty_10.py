"""Nobody asks for workers: the command line, the environment, the settings and the instance have none by default."""

import argparse
import os
from dataclasses import dataclass

from torch.utils.data import DataLoader

from pictures import Pictures


@dataclass
class Settings:
    size: int = 32
    loader_workers: int = 0


class Trainer:
    def __init__(self, folder, workers=0, **options):
        self.folder, self.options = folder, options
        self.workers = workers

    def loader(self):
        return DataLoader(Pictures(self.folder), batch_size=32, num_workers=self.workers)  # expect: loader-without-workers@note

    def other(self):
        return DataLoader(Pictures(self.folder), num_workers=self.options.get("workers", 0))  # expect: loader-without-workers@note


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-workers", "-j", type=int, default=0)
    run(parser.parse_args())


def run(args):
    return DataLoader(Pictures(args.folder), batch_size=32, num_workers=args.data_workers)  # expect: loader-without-workers@note


def of_settings(given):
    return DataLoader(Pictures(given.folder), num_workers=given.loader_workers)  # expect: loader-without-workers@note


def of_environment(folder, workers=None):
    count = 0
    if "COUNT" in os.environ:
        count = int(os.environ["COUNT"])
    some = DataLoader(Pictures(folder), num_workers=int(os.environ.get("WORKERS", "0")))  # expect: loader-without-workers@note
    more = DataLoader(Pictures(folder), num_workers=count)  # expect: loader-without-workers@note
    return some, more, DataLoader(Pictures(folder), num_workers=workers or 0)  # expect: loader-without-workers@note


def told(folder, given):
    return DataLoader(Pictures(folder), num_workers=getattr(given, "workers", 0))  # expect: loader-without-workers@note
