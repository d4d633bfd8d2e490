import torch
from torch.nn.utils import clip_grad_norm_, get_total_norm


def step(model, batch, optimizer, scaler, limit):
    """The first norm only says whether the gradients are finite; they are unscaled before they are clipped."""
    scaler.scale(model(batch)).backward()
    if not scaler.is_enabled():
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        if not torch.isfinite(get_total_norm(gradients, norm_type=float("inf"))):
            optimizer.zero_grad()
            return
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), limit)
    scaler.step(optimizer)
    scaler.update()
