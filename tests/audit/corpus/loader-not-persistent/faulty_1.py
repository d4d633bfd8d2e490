import torch
from torch.utils.data import DataLoader


def main(dataset, model, optimizer, epochs):
    loader = DataLoader(dataset, batch_size=128, shuffle=True, num_workers=8, pin_memory=True)  # expect: loader-not-persistent
    for _epoch in range(epochs):
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
            optimizer.zero_grad()
