import torch
from tqdm import tqdm


def step(model, x, y, optimizer, log=False):
    """Of the time before PyTorch 0.4: `.data[0]` is read here, and a number from then on."""
    loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.data[0]  # flyball: ignore[sync-every-step] the one read


def train(model, loader, optimizer):
    total = 0
    with tqdm(loader) as bar:
        for x, y in bar:
            total += step(model, x, y, optimizer)
            bar.set_postfix(loss=total)
