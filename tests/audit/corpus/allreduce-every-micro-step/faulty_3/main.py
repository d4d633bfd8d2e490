import os

import torch

from parallel import wrap

ACCUMULATION = 16


def main(network, loader):
    net = wrap(network, int(os.environ["LOCAL_RANK"]))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, batch in enumerate(loader, start=1):
        (net(batch.cuda()).mean() / ACCUMULATION).backward()  # expect: allreduce-every-micro-step
        if number % ACCUMULATION:
            continue
        opt.step()
        opt.zero_grad()
