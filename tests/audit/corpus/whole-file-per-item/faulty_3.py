import json

import torch
import torch.utils.data


class Captions(torch.utils.data.Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 10_000

    def __getitem__(self, i):
        with open(self.root + "/captions.json") as file:
            captions = json.load(file)  # expect: whole-file-per-item
        features = torch.load(self.root + "/features.pt")  # expect: whole-file-per-item@warning
        return features[i], captions[i]
