import torch


def train(model, loader, optimizer, device):
    fixed = torch.randn(64, 128).to(device)
    for x in loader:
        x = x.to(device, non_blocking=True)
        noise = torch.randn_like(x)
        t = torch.randint(0, 1000, (x.shape[0],), device=device)
        loss = torch.nn.functional.mse_loss(model(x + noise, t), noise) + model(fixed, t[:64]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
