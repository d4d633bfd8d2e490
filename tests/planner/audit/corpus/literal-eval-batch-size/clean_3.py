import torch
from torch.utils.data import DataLoader


def detection_loaders(train_set, val_set, args):
    """Images of different sizes: the metric and the model take them one by one."""
    train_loader = DataLoader(train_set, batch_size=args.batch_size, collate_fn=tuple)
    val_loader = DataLoader(val_set, batch_size=1, collate_fn=tuple)
    return train_loader, val_loader


@torch.no_grad()
def generate(model, val_set, tokenizer, args):
    """Texts of any length are generated one at a time."""
    train_loader = DataLoader(val_set, batch_size=args.batch_size)
    test_loader = DataLoader(val_set, batch_size=1)
    for batch in test_loader:
        print(tokenizer.decode(model.generate(**batch, max_new_tokens=32)[0]))
    return train_loader
