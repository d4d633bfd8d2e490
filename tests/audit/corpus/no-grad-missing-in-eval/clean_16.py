import torch
from torch import nn


class Sampler:
    def __init__(self, net: nn.Module):
        self.net = net

    @torch.no_grad()
    def sample(self, n):
        return self.net(torch.randn(n, 8, device="cuda")).cpu().numpy()

    def generate(self, n):
        with torch.inference_mode():
            out = [self.net(torch.randn(1, 8, device="cuda")).cpu().numpy() for _ in range(n)]
        return out

    def act(self, state):
        """The caller differentiates what this gives."""
        action = self.net(state)
        self.last = action.detach().cpu().numpy()
        return action

    def rollout(self, env, steps):
        losses = []
        for _ in range(steps):
            logits = self.net(env.state)
            env.step(logits.argmax().detach().cpu().numpy())
            losses.append(logits.logsumexp(-1))
        return torch.stack(losses)

    def _decode(self, z):
        return self.net(z).detach().cpu().numpy()

    def predict(self, z):
        with torch.no_grad():
            return self._decode(z)


def attack(model, images, labels, epsilon):
    model.eval()
    for x, y in zip(images, labels):
        x.requires_grad_(True)
        loss = nn.functional.cross_entropy(model(x), y)
        (gradient,) = torch.autograd.grad(loss, x)
        yield (x + epsilon * gradient.sign()).detach().cpu().numpy()


def tune_frozen(model, head, loader, optimizer):
    model.eval()
    for x, y in loader:
        loss = nn.functional.cross_entropy(head(model(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
