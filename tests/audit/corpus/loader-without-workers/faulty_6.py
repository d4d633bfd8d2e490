from torch.utils.data import DataLoader

from sounds import Sounds, pad


def get_dataloader(dataset, pad_longest=True, **settings):
    return DataLoader(dataset, collate_fn=pad if pad_longest else None, **settings)


def make_loader(dataset, **settings):
    return DataLoader(dataset, num_workers=8, **settings)


class Trainer:
    def __init__(self, folder, batch_size):
        self.loader = get_dataloader(Sounds(folder), batch_size=batch_size, shuffle=True)  # expect: loader-without-workers
        self.valid = make_loader(Sounds(folder), batch_size=batch_size)
        self.test = get_dataloader(Sounds(folder), batch_size=batch_size, num_workers=4)
