import torch


def train(model, loader, optimizer, criterion, device):
    history, rows = {}, []
    running = torch.zeros(1, device=device)
    smooth = torch.zeros(1, device=device)
    sums = torch.zeros(1, device=device)
    step = 0
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[step] = loss  # expect: retained-graph@note
        running = torch.add(running, loss)  # expect: retained-graph@note
        smooth = smooth.add(loss)  # expect: retained-graph@note
        sums.add_(loss)  # expect: retained-graph@note
        rows.append((step, {"loss": loss}))  # expect: retained-graph@note
        step += 1
    return history, running, smooth, sums, rows
