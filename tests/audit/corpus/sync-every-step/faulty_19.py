"""The same reading, in whatever order its parts are written."""

import numpy as np
import torch


def batch_update(net, criterion, metrics, x, y, optimizer):
    optimizer.zero_grad()
    prediction = net.forward(x)
    loss = criterion(prediction, y)
    loss.backward()
    optimizer.step()
    return loss, prediction


def run(net, criterion, metrics, loader, optimizer, device):
    seen, log = [], {}
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss, prediction = batch_update(net, criterion, metrics, x, y, optimizer)
        seen.append(loss.cpu().detach().numpy())  # expect: sync-every-step@warning
        seen.append(loss.data.cpu().numpy())  # expect: sync-every-step@warning
        seen.append(loss.detach().to("cpu").numpy())  # expect: sync-every-step@warning
        log |= {metric.__name__: metric(prediction, y).cpu().detach().numpy() for metric in metrics}  # expect: sync-every-step
        text = "loss %.3f" % loss.data  # expect: sync-every-step@warning
        more = f"{loss.item():.4f} and {torch.sigmoid(prediction).mean():.3f}"  # expect: sync-every-step@warning, sync-every-step@warning
        best = {"loss": np.mean([each.item() for each in (loss, prediction.sum())])}  # expect: sync-every-step@warning
