import torch
import torch.nn as nn
from torch.nn import DataParallel
from torch.nn.parallel import DataParallel as DP


def build(net, args):
    if torch.cuda.device_count() > 1:
        net = nn.DataParallel(net)  # expect: data-parallel
    return net.cuda()


class Trainer:
    def __init__(self, model, gpus):
        self.model = torch.nn.DataParallel(model, device_ids=gpus).cuda()  # expect: data-parallel
        self.teacher = DataParallel(model)  # expect: data-parallel
        self.other = DP(model.cuda(), device_ids=[0, 1])  # expect: data-parallel

    def fit(self, loader, optimizer):
        for x in loader:
            loss = self.model(x.cuda()).mean() + self.teacher(x).mean() + self.other(x).mean()
            loss.backward()
            optimizer.step()
