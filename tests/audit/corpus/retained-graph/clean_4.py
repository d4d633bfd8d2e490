import torch


def rollout(policy, environment, optimizer, episodes):
    """Log-probabilities are kept for the episode's loss, then let go."""
    for _ in range(episodes):
        log_probs, rewards = [], []
        state = environment.reset()
        for _step in range(200):
            distribution = torch.distributions.Categorical(logits=policy(state.cuda()))
            action = distribution.sample()
            log_probs.append(distribution.log_prob(action))
            state, reward = environment.step(action)
            rewards.append(reward)
        loss = -(torch.stack(log_probs) * torch.stack(rewards).cuda()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def penalised(model, loader, optimizer):
    losses = []
    for x in loader:
        losses.append(model(x.cuda()).mean())
        if len(losses) == 4:
            torch.stack(losses).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            losses = []
