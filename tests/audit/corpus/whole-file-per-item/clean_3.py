import functools

import pandas as pd
import torch


@functools.lru_cache
def table(path):
    return pd.read_csv(path)


class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        self.frame = pd.read_parquet(path)
        self.path = path

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, index):
        return self.frame.iloc[index].to_numpy(), table(self.path).iloc[index].to_numpy()


class Lookup:
    """No data set."""

    def __getitem__(self, key):
        return pd.read_csv("settings.csv").loc[key]
