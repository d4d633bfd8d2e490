from torch.utils.data import DataLoader


def loader(data, configs, train):
    """It is the training that takes items one by one: the model wants it so."""
    return DataLoader(data, batch_size=configs.batch_size if not train else 1)


def loaders(data, configs):
    return {split: DataLoader(data[split], batch_size=configs.batch_size if split != "train" else 1) for split in data}
