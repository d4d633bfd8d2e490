"""A tree of small experts, k children a node; the worst gradients are looked for after each step."""

import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    """Windows of long recordings, one file each."""

    def __init__(self, files, window):
        self.files, self.window = files, window

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        values = np.load(self.files[index])
        start = np.random.randint(0, len(values) - self.window - 1)
        return torch.from_numpy(values[start : start + self.window + 1]).float()


class Node(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class KTree(nn.Module):
    def __init__(self, k, depth, width):
        super().__init__()
        self.k, self.depth = k, depth
        self.nodes = nn.ModuleDict()
        self.grow("root", depth, width)
        self.lift = nn.Linear(1, width)
        self.head = nn.Linear(width, 1)

    def grow(self, path, levels, width):
        self.nodes[path] = Node(width)
        if levels > 1:
            for child in range(self.k):
                self.grow(f"{path}-{child}", levels - 1, width)

    def forward(self, x):
        steps = x.shape[1]
        mask = torch.triu(torch.ones(steps, steps, device=x.device), diagonal=1).bool()  # expect: mask-in-forward
        hidden = self.lift(x.unsqueeze(-1))
        similarity = hidden @ hidden.transpose(1, 2)
        hidden = hidden + similarity.masked_fill(mask, 0.0) @ hidden / steps
        path = "root"
        for level in range(self.depth):
            hidden = self.nodes[path](hidden)
            path = f"{path}-{level % self.k}"
        return self.head(hidden).squeeze(-1)


def node_gradients(tree):
    """The norm of each node's gradient."""
    norms = {}
    for name, parameter in tree.named_parameters():
        if parameter.grad is not None:
            norms[name] = parameter.grad.norm(2).item()  # expect: gradient-norms-every-step@warning, sync-every-step@warning
    return norms


def worst(norms, count):
    return sorted(norms.items(), key=lambda pair: pair[1], reverse=True)[:count]


def train(tree, loader, optimizer, args):
    total_loss = 0.0
    started = time.time()
    windows = 0
    for epoch in range(args.epochs):
        for number, series in enumerate(loader):
            series = series.cuda()
            loss = F.mse_loss(tree(series[:, :-1]), series[:, 1:])  # expect: no-mixed-precision@note
            optimizer.zero_grad()
            loss.backward()
            norms = node_gradients(tree)
            optimizer.step()
            total_loss += loss.item()  # expect: sync-every-step@warning
            windows += series.size(0)
            if number % 10 == 0:
                speed = windows / (time.time() - started)  # expect: cumulative-speed-log
                print(f"{epoch}/{number}: {total_loss / (number + 1):.4f}, {speed:.1f} windows/s")
                print("worst nodes:", worst(norms, 5))


def validate(tree, loader):
    tree.eval()
    losses = []
    with torch.no_grad():
        for series in loader:
            series = series.cuda()
            losses.append(F.mse_loss(tree(series[:, :-1]), series[:, 1:]).item())  # expect: sync-in-eval-loop
    tree.train()
    return np.mean(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=50)
    args = parser.parse_args()

    tree = KTree(args.k, args.depth, 256).cuda()  # expect: no-compile@note
    optimizer = torch.optim.AdamW(tree.parameters(), lr=3e-4)
    held_out = len(args.files) // 10
    train_loader = DataLoader(Series(args.files[held_out:], 512), batch_size=args.batch_size, shuffle=True)  # expect: loader-without-workers
    val_loader = DataLoader(Series(args.files[:held_out], 512), batch_size=2)  # expect: loader-without-workers, literal-eval-batch-size
    train(tree, train_loader, optimizer, args)
    print("validation", validate(tree, val_loader))
    torch.save(tree.state_dict(), "tree.pt")


if __name__ == "__main__":
    main()
