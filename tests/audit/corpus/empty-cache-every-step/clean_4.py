"""Every so many steps, whatever the setting is called."""

import torch
from torch.nn.functional import mse_loss


def fit(net, loader, optimizer, settings):
    for step, picture in enumerate(loader):
        loss = mse_loss(net(picture.cuda()), picture.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % settings.train.weight_update_frequency == 0:
            torch.cuda.empty_cache()
