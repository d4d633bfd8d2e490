import torch


def reconstruct_all(rows, net, batch_size, device="cuda"):
    net = torch.nn.Sequential(*net).to(device)
    net.eval()
    errors = []
    with torch.no_grad():
        for first in range(0, len(rows), batch_size):
            part = torch.from_numpy(rows[first : first + batch_size]).to(device)
            errors.append(((net(part) - part) ** 2).mean().item())  # expect: sync-in-eval-loop
    return errors


def score(frames, net, device="cuda"):
    net.to(device)
    net.eval()
    worst = []
    with torch.no_grad():
        for number in range(frames.shape[0]):
            frame = frames[[number]].to(device)
            worst.append(net(frame).amax().item())  # expect: sync-in-eval-loop
    return worst
