from torch.utils.data import DataLoader


def loaders(data, configs):
    """Not what the loader is for decides, but how large a sample is."""
    return {split: DataLoader(data[split], batch_size=configs.batch_size if configs.small else 1) for split in data}
