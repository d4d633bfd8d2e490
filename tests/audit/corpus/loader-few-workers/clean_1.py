from torch.utils.data import DataLoader


def loaders(train_set, val_set, args):
    train = DataLoader(train_set, batch_size=args.batch_size, num_workers=args.num_workers, shuffle=True)
    val = DataLoader(val_set, batch_size=args.batch_size, num_workers=8)
    return train, val
