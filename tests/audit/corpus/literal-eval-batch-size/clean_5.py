from torch.utils.data import DataLoader


def restored(model, images):
    """Images of any size, and no training beside."""
    test_loader = DataLoader(images, batch_size=1)
    return [model(image) for image in test_loader]


def ones(train_set, val_set):
    train_loader = DataLoader(train_set, batch_size=1, shuffle=True)
    return train_loader, DataLoader(val_set, batch_size=1)
