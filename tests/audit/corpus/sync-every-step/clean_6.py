import argparse

import torch


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=float, nargs="+", default=[1.0, 0.5])
    return parser.parse_args()


def train(model, loader, optimizer, args):
    factor = float(args.weights[0])
    lengths = []
    for batch in loader:
        # what the collate function made is on the host: reading it waits for nothing
        longest = batch["lengths"].max().item()
        lengths.append(int(batch["lengths"].sum()))
        print("padded to", longest, "learning rate", float(optimizer.param_groups[0]["lr"]))
        inputs = batch["inputs"][:, :longest].cuda(non_blocking=True)
        loss = factor * model(inputs).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return sum(lengths)


@torch.no_grad()
def describe(model):
    for name, weight in model.named_parameters():
        print(name, weight.norm().item())
