import torch


def validate(net, data_loader, criterion, device):
    """The loader is not among the files: nobody sees whether it pins."""
    total = 0
    with torch.no_grad():
        for images, labels in data_loader:
            images, labels = images.to(device), labels.to(device)  # expect: blocking-transfer@note
            total += criterion(net(images), labels)
    return total
