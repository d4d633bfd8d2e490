import torch


class Gan:
    """A penalty's gradient keeps its graph by itself; noise and the like carry none."""

    def __init__(self, generator, critic, gen_optim, critic_optim):
        self.generator = generator.cuda()
        self.critic = critic.cuda()
        self.gen_optim = gen_optim
        self.critic_optim = critic_optim

    def penalty(self, real, fake):
        mixed = (real + fake).requires_grad_()
        given = self.critic(mixed).sum()
        gradient = torch.autograd.grad(given, mixed, create_graph=True, retain_graph=True)[0]
        return gradient.norm(2, dim=1).sub(1).pow(2).mean()

    def optimize_critic(self, noise, real_batch, depth, alpha):
        for _ in range(5):
            fake = self.generator(noise, depth, alpha).detach()
            penalty = self.penalty(real_batch, fake)
            loss = self.critic(fake).mean() - self.critic(real_batch).mean() + penalty
            self.critic_optim.zero_grad()
            loss.backward(retain_graph=True)  # expect: retain-graph-every-step
            self.critic_optim.step()

    def optimize_generator(self, noise, real_batch, depth, alpha):
        fake = self.generator(noise, depth, alpha)
        loss = -self.critic(fake).mean()
        self.gen_optim.zero_grad()
        loss.backward(retain_graph=True)  # expect: retain-graph-every-step
        self.gen_optim.step()
