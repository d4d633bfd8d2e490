import torch
from torch import nn


def train(loader, epochs, device):
    model = nn.Linear(3, 3).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    losses, table, running, recent, history = torch.zeros(0, device=device), {}, 0.0, [], []
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses = torch.cat((losses, loss.view(1)))  # expect: retained-graph
            table[step] = loss  # expect: retained-graph
            running = loss if step == 0 else 0.9 * running + 0.1 * loss  # expect: retained-graph
            recent.insert(0, loss)  # expect: retained-graph
            history.extend([loss])  # expect: retained-graph
