import torch


def train(net, loss_of, optimizer, train_loader, place):
    """One of the two loaders that it may be given does not pin."""
    place = torch.device(place)
    for images, labels in train_loader:
        images = images.to(place)
        loss = loss_of(net(images), labels.to(place))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
