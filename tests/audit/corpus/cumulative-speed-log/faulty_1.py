import time

import torch


def train(model, loader, optimizer):
    start = time.time()
    seen = 0
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seen += x.size(0)
        if step % 50 == 0:
            print(f"{step}: {seen / (time.time() - start):.1f} samples/s")  # expect: cumulative-speed-log
