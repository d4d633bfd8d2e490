import time

import torch


def train(model, loader, optimizer, every=100):
    started = time.time()
    for number, batch in enumerate(loader):
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if (number + 1) % every:
            continue
        torch.cuda.synchronize()
        print(every / (time.time() - started))
        started = time.time()
