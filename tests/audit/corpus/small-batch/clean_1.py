import torch
from torch.utils.data import DataLoader


def main(dataset, holdout, args, model, optimizer):
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    sample_loader = DataLoader(holdout, batch_size=1)
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for x in sample_loader:
            print(model(x.cuda()).shape)
