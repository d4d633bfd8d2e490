import torch


def train(model, loader, optimizer, env_id=None, env=None):
    if env_id is not None and env is not None:
        raise ValueError("give one of both")
    torch.autograd.set_detect_anomaly(True)  # expect: anomaly-mode
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
