import torch

from scoring import score


def train(model, optimizer, train_loader, val_loader):
    for x, y in train_loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        print(score(model, val_loader))
