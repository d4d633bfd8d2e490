import torch
from torch.utils.data import DataLoader

from images import Folder


def main(model, optimizer):
    train_loader = DataLoader(Folder("train"), shuffle=True, num_workers=8, pin_memory=True)  # expect: small-batch
    for x, y in train_loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
