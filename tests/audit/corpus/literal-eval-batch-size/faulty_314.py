from torch.utils.data import DataLoader


def loaders(data, configs):
    """Asked the other way around, the first is what does not train."""
    return {
        split: DataLoader(data[split], batch_size=1 if split != "train" else configs.batch_size)  # expect: literal-eval-batch-size
        for split in data
    }
