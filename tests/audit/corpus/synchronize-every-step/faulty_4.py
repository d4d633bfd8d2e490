import torch


def train_one_epoch(model, criterion, loader, optimizer, device, steps_per_epoch):
    for number, (samples, targets) in enumerate(loader):
        if number >= steps_per_epoch:
            continue
        samples, targets = samples.to(device), targets.to(device)
        loss = criterion(model(samples), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()  # expect: synchronize-every-step@warning
