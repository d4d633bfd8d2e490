import functools

import torch
from torch import nn
from torch.utils.data import DataLoader


def without_history(function):
    """The project's own decorator: newer versions know a faster mode."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with torch.inference_mode() if hasattr(torch, "inference_mode") else torch.no_grad():
            return function(*args, **kwargs)

    return wrapped


@without_history
def evaluate(model: nn.Module, loader: DataLoader):
    model.eval()
    right = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum()
    return right


class Detector(nn.Module):
    """Being called means predicting, which looks after itself."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 2)

    def __call__(self, image):
        return self.predict(image)

    @without_history
    def predict(self, image):
        return self.net(image)


def show(images):
    detector = Detector()
    detector.eval()
    for image in images:
        print(detector(image))
