"""What a turn makes of its own former value is part of the graph: to be detached before the graph is let go."""

import torch


def search(cost, count, lr):
    x = torch.zeros(1, count, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=lr)
    for _ in range(100):
        x = torch.softmax(x, dim=1)
        y = x @ cost @ x.t()
        optimizer.zero_grad()
        y.backward(retain_graph=True)  # expect: retain-graph-every-step@note
        optimizer.step()
    return x
