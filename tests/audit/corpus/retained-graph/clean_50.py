import torch
from torch import nn


def train(loader, epochs, device):
    model = nn.Linear(3, 3).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    losses, table, running, recent = torch.zeros(0, device=device), {}, 0.0, []
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses = torch.cat((losses, loss.detach().view(1)))
            table["loss"] = loss
            table[step] = loss.detach()
            running = loss.detach() if step == 0 else 0.9 * running + 0.1 * loss.detach()
            recent.insert(0, loss.detach())
            shown = torch.cat((x, y))
