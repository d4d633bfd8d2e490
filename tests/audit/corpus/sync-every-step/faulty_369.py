"""Losses that are objects, a norm that must be finite, a discriminator's step every few turns, and a mask by lengths."""

import torch
from torch.nn.utils import clip_grad_norm_


class SurrogateLoss:
    def compute(self, logits, batch):
        loss = -(batch["advantages"] * logits.log_softmax(-1)[:, 0]).mean()
        return loss, {"loss": float(loss.detach().cpu())}  # expect: sync-every-step@note


def get_mask_from_lengths(lengths: torch.Tensor):
    longest = torch.max(lengths).item()  # expect: sync-every-step@note
    return torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)


def train(generator, discriminator, loader, optimizer, other, every=5):
    losses = []
    for step, x in enumerate(loader):
        x = x.cuda()
        loss = -discriminator(generator(x)).mean()
        loss.backward()
        clip_grad_norm_(generator.parameters(), 1.0, error_if_nonfinite=True)  # expect: sync-every-step@note
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            cost = (discriminator(generator(x).detach()) - discriminator(x)).mean()
            other.zero_grad()
            cost.backward()
            losses.append(cost.item())  # expect: sync-every-step@note
            other.step()
    return losses
