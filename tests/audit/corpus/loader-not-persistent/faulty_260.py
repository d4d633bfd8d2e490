from torch.utils.data import DataLoader

from .trainers import Trainer


def train(options, datasets, validation=None):
    loaders = {
        part: DataLoader(datasets[part], batch_size=16, shuffle=True, num_workers=10)  # expect: loader-not-persistent
        for part in ("train", "val")
    }
    trainer = Trainer(options)
    trainer.fit(loaders["train"])


def prepare(data, validation, workers=4):
    validation_loader = (
        None if validation is None else DataLoader(validation, num_workers=workers)  # expect: loader-not-persistent
    )
    return validation_loader


class Rollouts:
    def __init__(self, train_set, workers="auto"):
        self.train_set = train_set
        self.workers = workers
        self.gym = limited(max_steps=self.max_episode_steps)

    def train_dataloader(self):
        return DataLoader(self.train_set, num_workers=self.workers)  # expect: loader-not-persistent


def limited(max_steps):
    return max_steps
