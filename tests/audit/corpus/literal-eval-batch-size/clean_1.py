from torch.utils.data import DataLoader


def loaders(train_set, test_set, args):
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=8)
    test_loader = DataLoader(test_set, batch_size=args.test_batch_size or 2 * args.batch_size, num_workers=8)
    return train_loader, test_loader
