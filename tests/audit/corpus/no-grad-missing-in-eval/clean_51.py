import torch
from torch import nn


def learn(memory, env, device, steps, gamma=0.99):
    policy = nn.Linear(4, 2).to(device)
    target = nn.Linear(4, 2).to(device)
    for each in target.parameters():
        each.requires_grad = False
    optimizer = torch.optim.Adam(policy.parameters())
    for step in range(steps):
        now, chosen, reward, then = memory.sample(64)
        best = target(then.to(device)).max(dim=1)[0].detach()
        loss = nn.functional.mse_loss(policy(now.to(device)).gather(1, chosen.to(device)), reward + gamma * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
