import torch
from torch import nn
from torch.distributions import Categorical


def reinforce(env, device, episodes):
    policy = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.Adam(policy.parameters())
    for episode in range(episodes):
        state, done, kept = env.reset(), False, []
        while not done:
            choice = Categorical(logits=policy(state.to(device)))
            action = choice.sample()
            kept.append(choice.log_prob(action))
            state, reward, done = env.step(action.item())
        loss = -torch.stack(kept).sum() * reward
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def adversarial(generator, critic, loader, device, to_generate, to_judge):
    for real in loader:
        made = generator(torch.randn(len(real), 64, device=device))
        judged = critic(made.detach()).mean() - critic(real.to(device)).mean()
        to_judge.zero_grad()
        judged.backward()
        to_judge.step()
        to_generate.zero_grad()
        (-critic(made).mean()).backward()
        to_generate.step()
