import torch.nn as nn


def block(channels_in, channels_out):
    return nn.Sequential(nn.Conv3d(channels_in, channels_out, 3, padding=1), nn.BatchNorm3d(channels_out), nn.ReLU())


class VolumeNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.Sequential(block(1, 16), block(16, 32), nn.AdaptiveAvgPool3d(1), nn.Flatten())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.layers(x))
