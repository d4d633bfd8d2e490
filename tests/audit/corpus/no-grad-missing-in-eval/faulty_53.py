import torch
from torch import nn


def learn(memory, env, device, steps, gamma=0.99):
    policy = nn.Linear(4, 2).to(device)
    target = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.Adam(policy.parameters())
    state = env.reset()
    for step in range(steps):
        action = policy(state.to(device)).argmax(dim=1).item()  # expect: no-grad-missing-in-eval@note
        state = env.step(action)
        now, chosen, reward, then = memory.sample(64)
        best = target(then.to(device)).max(dim=1)[0].detach()  # expect: no-grad-missing-in-eval@note
        wanted = reward.to(device) + gamma * best
        loss = nn.functional.mse_loss(policy(now.to(device)).gather(1, chosen.to(device)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
