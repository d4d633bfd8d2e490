import os

import numpy as np
import torch
from torch.utils.data import Dataset


class Tiles(Dataset):
    def __init__(self, root, split="train"):
        self.archive = os.path.join(root, f"{split}.npz")
        with np.load(self.archive) as archive:
            self.length = len(archive["labels"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return {"image": self._load_image(index), "label": self._load_label(index)}

    def _load_image(self, index):
        image = np.load(self.archive)["images"][index]  # expect: whole-file-per-item@warning
        return torch.from_numpy(image).permute(2, 0, 1).float()

    def _load_label(self, index: int) -> int:
        with np.load(self.archive) as archive:  # expect: whole-file-per-item@warning
            return int(archive["labels"][index])
