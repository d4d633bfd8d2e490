import torch


def train(net, loss_of, optimizer, train_loader, place):
    """Which loader it is given only `main.py` knows, by a name that a command line chooses."""
    place = torch.device(place)
    for images, labels in train_loader:
        images = images.to(place)  # expect: blocking-transfer@note
        loss = loss_of(net(images), labels.to(place))  # expect: blocking-transfer@note
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
