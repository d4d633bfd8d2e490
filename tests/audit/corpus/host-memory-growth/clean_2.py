from collections import deque

import numpy as np
import torch


@torch.no_grad()
def predict(model, loader):
    """The predictions are the result."""
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x.cuda()).cpu())
    return torch.cat(outputs)


def train(model, loader, optimizer):
    replay = deque(maxlen=1000)
    for x in loader:
        out = model(x.cuda())
        out.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        replay.append(out.detach().cpu())


def get_batch(path, length, size):
    """Made anew each time and let go of: the remedy for the growth of a map that is kept."""
    data = np.memmap(path, dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - length, (size,))
    return torch.stack([torch.from_numpy(data[i : i + length].astype(np.int64)) for i in starts])
