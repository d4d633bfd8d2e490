"""Reads behind a setting: whoever has it on pays for them in each step."""

import argparse

import torch


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_critic", type=int, default=1)
    parser.add_argument("--show_every", type=int, default=100)
    return parser.parse_args()


def train(args, generator, critic, g_optimizer, c_optimizer, loader, log_losses=True):
    generator, critic = generator.cuda(), critic.cuda()
    for i, real in enumerate(loader):
        noise = torch.randn(64, 100, device="cuda")
        c_loss = critic(generator(noise).detach()).mean() - critic(real.cuda()).mean()
        c_loss.backward()
        c_optimizer.step()
        c_optimizer.zero_grad()
        if (i + 1) % args.n_critic == 0:
            g_loss = -critic(generator(noise)).mean()
            g_loss.backward()
            g_optimizer.step()
            g_optimizer.zero_grad()
            last = g_loss.item()  # expect: sync-every-step@note
        if log_losses:
            curve = c_loss.item()  # expect: sync-every-step
        if i % args.show_every == 0:
            print(c_loss.item())
