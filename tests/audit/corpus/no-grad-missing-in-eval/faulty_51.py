import torch
from torch import nn

from pointnets import Encoder, Head


def evaluate(device, model, loader):
    model.eval()
    right = 0.0
    for points, target in loader:
        output = model(points.to(device))  # expect: no-grad-missing-in-eval@warning
        right += (output.argmax(dim=1) == target.to(device)).sum().item()
    return right


def main(args, loader, held_out):
    model = Head(encoder=Encoder(width=64))
    model.to(args.device)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(args.epochs):
        model.train()
        for points, target in loader:
            loss = nn.functional.cross_entropy(model(points.to(args.device)), target.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, evaluate(args.device, model, held_out))
