import pandas as pd
import torch
from torch.utils.data import Dataset


class Table(Dataset):
    def __init__(self, path, length):
        self.path, self.length = path, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        frame = pd.read_csv(self.path)  # expect: whole-file-per-item@warning
        return torch.tensor(frame.iloc[index].to_numpy())
