import numpy as np
import torch


def contrast(scores, mask):
    """To take a part by a mask waits as well: without the question nothing is gained."""
    loss = torch.zeros((), device=scores.device)
    if mask.any():  # expect: sync-every-step@note
        loss = loss + scores[mask].mean()
    if (~mask).sum() > 0:  # expect: sync-every-step@note
        loss = loss - scores[~mask, 0].mean()
    return loss


def train(model, loader, optimizer):
    for x, mask in loader:
        mask = mask.cuda()
        loss = contrast(model(x.cuda()), mask)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if isinstance(norm, float):
            if np.isinf(norm):
                print("a number by then")
        elif torch.isinf(norm):  # expect: sync-every-step
            print("skipped")
        optimizer.step()
        optimizer.zero_grad()
