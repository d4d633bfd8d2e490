from torch import nn


def load_network(network):
    return nn.DataParallel(network).eval().cuda()  # expect: data-parallel@note
