import json
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, root: Path, images: list[str]):
        self.root, self.images = root, images

    def __len__(self):
        return len(self.images)

    def _captions_of(self, name):
        with open(self.root / "captions.json") as stream:
            table = json.load(stream)  # expect: whole-file-per-item@warning
        return table[name]

    def __getitem__(self, idx):
        name = self.images[idx]
        return name, self._captions_of(name)


def collate(rows):
    words = json.loads(Path("vocabulary.json").read_text())  # expect: whole-file-per-item@warning
    return torch.tensor([[words[word] for word in caption.split()] for _, caption in rows])


loader = DataLoader(Captions(Path("data"), []), batch_size=8, collate_fn=collate, num_workers=4)
