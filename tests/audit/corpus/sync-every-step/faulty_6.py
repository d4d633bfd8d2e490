import torch
from tqdm.auto import tqdm

dev = "cuda:0"


def train(agent, target, buffer, opt, steps):
    bar = tqdm(range(steps))
    for i in bar:
        obs, act, rew, nxt, done = [t.to(dev) for t in buffer.sample(256)]
        with torch.no_grad():
            goal = rew + 0.99 * (1 - done) * target(nxt).max(1).values
        q = agent(obs).gather(1, act)
        td = (q.squeeze(1) - goal).pow(2).mean()
        opt.zero_grad()
        td.backward()
        opt.step()
        bar.set_postfix(loss=f"{td:.4f}", q=q.mean().item())  # expect: sync-every-step@warning
