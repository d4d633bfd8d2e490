"""Loaders that are given back in a dict under their keys."""

from torch.utils.data import DataLoader, random_split


def loaders_from(train_set, test_set, size):
    loaders = {}
    train_set, valid_set = random_split(train_set, [0.9, 0.1])
    valid = DataLoader(valid_set, batch_size=size, num_workers=4)  # expect: loader-not-persistent@note
    loaders["valid"] = valid
    loaders["train"] = DataLoader(train_set, batch_size=size, num_workers=4)  # expect: loader-not-persistent@note
    loaders["test"] = DataLoader(test_set, batch_size=size, num_workers=4)
    own = {"batch_size": size, "num_workers": 4, "persistent_workers": True}
    loaders["more"] = DataLoader(train_set, **own)
    train_again = DataLoader(train_set, batch_size=size, num_workers=4)
    train_again.sampler.begin(loaders)
    return loaders
