from torch.utils.data import DataLoader

from .trainers import Trainer


def evaluate(options, datasets):
    loaders = {part: DataLoader(datasets[part], batch_size=16, num_workers=10) for part in ("test", "demo")}
    trainer = Trainer(options)
    return trainer.predict(loaders["test"])


def train(options, datasets):
    loaders = {
        part: DataLoader(datasets[part], batch_size=16, num_workers=10, persistent_workers=True)
        for part in ("train", "val")
    }
    trainer = Trainer(options)
    trainer.fit(loaders["train"])


def lengths(data):
    found = [len(DataLoader(each, num_workers=4)) for each in data]
    return found
