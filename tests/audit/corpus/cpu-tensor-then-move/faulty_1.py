import torch


def train(model, loader, optimizer, device):
    for x in loader:
        x = x.to(device, non_blocking=True)
        noise = torch.randn(x.shape).to(device)  # expect: cpu-tensor-then-move
        t = torch.randint(0, 1000, (x.shape[0],)).cuda()  # expect: cpu-tensor-then-move
        loss = torch.nn.functional.mse_loss(model(x + noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
