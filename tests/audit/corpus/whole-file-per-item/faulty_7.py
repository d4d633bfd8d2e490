import torch
from torch.utils.data import Dataset


class Shards(Dataset):
    """Each shard holds a thousand samples."""

    def __init__(self, shards, per_shard=1000):
        self.shards, self.per_shard = shards, per_shard

    def __len__(self):
        return len(self.shards) * self.per_shard

    def __getitem__(self, index):
        shard, row = divmod(index, self.per_shard)
        tokens = torch.load(self.shards[shard])[row]  # expect: whole-file-per-item@warning
        return tokens[:-1], tokens[1:]
