import torch


def play(policy, env, length, device="cuda"):
    policy.to(device)
    policy.eval()
    returns = torch.zeros(length)
    seen = env.reset()
    with torch.no_grad():
        for turn in range(length):
            action = policy(torch.as_tensor(seen, device=device)).argmax().item()
            seen, returns[turn], _, _ = env.step(action)
    return returns.sum()


def weigh(rows, net, batch_size, device="cuda"):
    net = torch.nn.Sequential(*net).to(device)
    net.eval()
    total = torch.zeros((), device=device)
    with torch.no_grad():
        for first in range(0, len(rows), batch_size):
            part = torch.from_numpy(rows[first : first + batch_size]).to(device)
            total += net(part).sum()
    return total.item()
