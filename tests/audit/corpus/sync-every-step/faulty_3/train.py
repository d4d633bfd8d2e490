import torch
from torch import nn

from metrics import accuracy


def fit(model, batches, epochs):
    device = torch.device("cuda")
    model.to(device)
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _epoch in range(epochs):
        for inputs, targets in batches:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad(set_to_none=True)
            scores = model(inputs)
            loss = loss_function(scores, targets)
            loss.backward()
            optimizer.step()
            top = accuracy(scores, targets, k=5)
            print("top-5", top)
