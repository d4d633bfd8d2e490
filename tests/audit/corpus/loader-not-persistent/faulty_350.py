"""A loader for each data set, handed back in a list."""

from torch.utils.data import DataLoader


def build_train_loaders(datasets, batch_size, num_workers):
    loaders = []
    for dataset in datasets:
        loaders.append(DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, pin_memory=True))  # expect: loader-not-persistent@note
    return loaders
