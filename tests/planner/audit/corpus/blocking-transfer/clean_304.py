import torch


def data_loader(x, y, size):
    for i in range(0, len(x), size):
        yield x[i : i + size], y[i : i + size]


def train(net, x, y, criterion, optimizer, device):
    """What the project gives itself is no loader that pins."""
    for images, labels in data_loader(x, y, 32):
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        criterion(net(images), labels).backward()
        optimizer.step()


def fit(net, loader, criterion, optimizer, device):
    """These are on the device."""
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(net(images), labels).backward()
        optimizer.step()
