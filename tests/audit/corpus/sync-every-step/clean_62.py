"""An environment is stepped, and a loss is handed a gradient: neither is an optimizer."""

import torch


def explain(model, world, actions, device):
    for action in actions:
        state, reward, _ = world.step(action)
        value = model(torch.as_tensor(state, device=device))
        value.backward(torch.ones_like(value))
        yield model.weight.grad.abs().sum()
    return value.detach().cpu()
