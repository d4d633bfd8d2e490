import torch


def train(model, slow, loader, optimizer, criterion, device):
    history, rows, names = {}, [], {}
    running = torch.zeros(1, device=device)
    sums = torch.zeros(1, device=device)
    step = 0
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[step] = loss.detach()
        names["last"] = loss
        running = torch.add(running, loss.detach())
        with torch.no_grad():
            sums.add_(loss)
        rows.append((step, {"loss": loss.item()}))
        for old, new in zip(slow.parameters(), model.parameters(), strict=True):
            old.data.mul_(0.9).add_(new.data, alpha=0.1)
        step += 1
    return history, running, sums, rows


def unrolled(model, loader, optimizer, criterion, device, steps):
    for x, y in loader:
        total = torch.zeros((), device=device)
        parts = {}
        place = 0
        for _ in range(steps):
            parts[place] = criterion(model(x.to(device)), y.to(device))
            total = torch.add(total, parts[place])
            place += 1
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
