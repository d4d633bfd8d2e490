import torch


def is_causal(mask):
    """Whoever calls asks for the answer."""
    upper = torch.triu(mask, diagonal=1)
    causal = torch.all(upper <= 1e-6) or torch.all(upper < -1e4)  # expect: sync-every-step@note
    return causal


def train(model, loader, optimizer):
    for x, mask in loader:
        loss = model(x.cuda(), is_causal=is_causal(mask.cuda())).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item(), loss.item())  # expect: sync-every-step
