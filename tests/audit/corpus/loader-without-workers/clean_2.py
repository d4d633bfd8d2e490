from torch.utils.data import DataLoader


def loaders(train_set, test_set, args, **options):
    """Unpacked arguments and configured values are unknown, not missing."""
    train = DataLoader(train_set, batch_size=args.batch_size, **options)
    test = DataLoader(test_set, batch_size=args.batch_size, num_workers=args.workers)
    return train, test


def with_keywords(dataset, device, use_cuda, model, optimizer):
    kwargs = {"num_workers": 4, "pin_memory": True} if use_cuda else {}
    settings = dict(batch_size=64)
    settings.update(kwargs)
    for x in DataLoader(dataset, **settings):
        model(x.to(device)).mean().backward()
        optimizer.step()
