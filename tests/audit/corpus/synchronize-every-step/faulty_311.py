import time

import torch


def validate(net, val_loader, device):
    """To time a batch the device is waited for twice."""
    net.eval()
    spent, hits = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            torch.cuda.synchronize()  # expect: synchronize-every-step@note
            start = time.time()
            hits = hits + (net(x.to(device)).argmax(1) == y.to(device)).sum()
            torch.cuda.synchronize()  # expect: synchronize-every-step@note
            spent += time.time() - start
    return spent, hits
