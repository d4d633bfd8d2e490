import argparse

import torch
from torch.utils.data import DataLoader

from images import Folder

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--epochs", type=int, default=16)
args = parser.parse_args()


def get_loader(root, size=2):
    return DataLoader(Folder(root), batch_size=size, shuffle=True, num_workers=8)  # expect: small-batch


loader = DataLoader(Folder("train"), batch_size=args.batch_size, shuffle=True, num_workers=8)
other = get_loader("train")
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(args.epochs):
    for x in (*loader, *other):
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
