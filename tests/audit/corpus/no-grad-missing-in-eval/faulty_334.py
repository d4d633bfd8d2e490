import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)


def validate(decoder, features, size):
    decoder.eval()
    found = []
    for number in range(len(features) // size):
        start = size * number
        part = torch.from_numpy(features[start : start + size])
        found.append(decoder(part.cuda()))  # expect: no-grad-missing-in-eval
    return torch.cat(found)


def measure_test(decoder, features, turns):
    for number in range(turns):
        doubled = 2 * number
        decoder(features[0].cuda())
        print(doubled)


def main(features):
    decoder = Decoder().cuda()
    print(validate(decoder, features, 32).shape)
    measure_test(decoder, features, 3)
