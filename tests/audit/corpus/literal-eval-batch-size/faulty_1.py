from torch.utils.data import DataLoader


def loaders(train_set, test_set, args):
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=8, pin_memory=True)
    test_loader = DataLoader(test_set, batch_size=1, num_workers=8, pin_memory=True)  # expect: literal-eval-batch-size
    return train_loader, test_loader
