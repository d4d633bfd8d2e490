import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, nodes, graph_of):
        """How many graphs there are, only the device can say."""
        return self.linear(nodes).view(len(graph_of.unique()), -1, 8).sum(1)  # expect: sync-every-step@note


def train(loader, device):
    model = Pooling().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for nodes, graph_of, target in loader:
        graph_of = graph_of.to(device)
        count = len(torch.unique(graph_of))  # expect: sync-every-step
        loss = nn.functional.mse_loss(model(nodes.to(device), graph_of), target.to(device)) / count
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
