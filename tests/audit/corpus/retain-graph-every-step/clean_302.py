import torch


class Gan:
    """The penalty is taken behind the backward pass, of the same graph."""

    def __init__(self, critic, optimizer):
        self.critic = critic.cuda()
        self.optimizer = optimizer

    def penalty(self, given, mixed):
        return torch.autograd.grad(given, mixed, create_graph=True)[0].norm(2)

    def optimize_critic(self, loader):
        for batch in loader:
            mixed = batch.cuda().requires_grad_()
            loss = self.critic(mixed).mean()
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)
            self.optimizer.step()
            self.shown = self.penalty(loss, mixed)
