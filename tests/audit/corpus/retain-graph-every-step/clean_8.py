"""Look-alikes: two passes after one another, one for each arm, and graphs that somebody else made."""

import torch
from torch import nn


def both(model: nn.Sequential, loader, optimizer, scaler, extra):
    for x in loader:
        y = model(x)
        if extra:
            y.abs().mean().backward(retain_graph=True)
        else:
            y.square().mean().backward(retain_graph=True)
        y.exp().mean().backward()
        optimizer.step()


def critic_step(critic: nn.Sequential, fake, optimizer):
    """The fakes' graph is the generator's, which is differentiated next."""
    loss = critic(fake).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()


def adversarial(generator: nn.Sequential, critic: nn.Sequential, loader, first, second):
    for z in loader:
        fake = generator(z)
        critic_step(critic, fake, first)
        second.zero_grad()
        (-critic(fake).mean()).backward()
        second.step()


class Two(nn.Module):
    def backward_pass(self, y, dy):
        with torch.enable_grad():
            shared = self.f(y)
            torch.autograd.backward(shared, dy, retain_graph=True)
            torch.autograd.backward(shared.sum(), None)
        return y.grad
