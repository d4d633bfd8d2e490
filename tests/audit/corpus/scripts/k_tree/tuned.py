"""A tree of small experts, k children a node; the worst gradients are looked for now and then, in one launch."""

import argparse
import heapq
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
        values = np.load(self.files[index], mmap_mode="r")
        start = np.random.randint(0, len(values) - self.window - 1)
        return torch.from_numpy(values[start : start + self.window + 1].astype(np.float32))


class Node(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class KTree(nn.Module):
    def __init__(self, k, depth, width, window):
        super().__init__()
        self.k, self.depth = k, depth
        self.nodes = nn.ModuleDict()
        self.grow("root", depth, width)
        self.lift = nn.Linear(1, width)
        self.head = nn.Linear(width, 1)
        self.register_buffer("mask", torch.triu(torch.ones(window, window), diagonal=1).bool(), persistent=False)

    def grow(self, path, levels, width):
        self.nodes[path] = Node(width)
        if levels > 1:
            for child in range(self.k):
                self.grow(f"{path}-{child}", levels - 1, width)

    def forward(self, x):
        steps = x.shape[1]
        hidden = self.lift(x.unsqueeze(-1))
        similarity = hidden @ hidden.transpose(1, 2)
        hidden = hidden + similarity.masked_fill(self.mask[:steps, :steps], 0.0) @ hidden / steps
        path = "root"
        for level in range(self.depth):
            hidden = self.nodes[path](hidden)
            path = f"{path}-{level % self.k}"
        return self.head(hidden).squeeze(-1)


@torch.no_grad()
def worst_nodes(tree, count):
    """The nodes of the largest gradients: one launch for all norms, one copy to the host."""
    named = [(name, p.grad) for name, p in tree.named_parameters() if p.grad is not None]
    norms = torch.stack(torch._foreach_norm([grad for _, grad in named])).tolist()
    return heapq.nlargest(count, zip(norms, (name for name, _ in named), strict=True))


def train(tree, loader, optimizer, args):
    total_loss = torch.zeros((), device="cuda")
    since, windows, batches = time.perf_counter(), 0, 0
    for epoch in range(args.epochs):
        for number, series in enumerate(loader):
            series = series.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.mse_loss(tree(series[:, :-1]), series[:, 1:])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(tree.parameters(), args.clip)
            looking = number % args.look_every == 0
            if looking:
                print("worst nodes:", worst_nodes(tree, 5))
            optimizer.step()
            total_loss += loss.detach()
            windows += series.size(0)
            batches += 1
            if looking:
                mean = total_loss.item() / batches
                now = time.perf_counter()
                print(f"{epoch}/{number}: {mean:.4f}, {windows / (now - since):.1f} windows/s")
                total_loss.zero_()
                since, windows, batches = now, 0, 0


def validate(tree, loader):
    tree.eval()
    losses = []
    with torch.inference_mode():
        for series in loader:
            series = series.cuda(non_blocking=True)
            losses.append(F.mse_loss(tree(series[:, :-1]), series[:, 1:]))
    tree.train()
    return torch.stack(losses).mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--look-every", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=50)
    args = parser.parse_args()

    torch.set_float32_matmul_precision("high")
    tree = torch.compile(KTree(args.k, args.depth, 256, args.window).cuda())
    optimizer = torch.optim.AdamW(tree.parameters(), lr=3e-4, fused=True)
    held_out = len(args.files) // 10
    options = {"batch_size": args.batch_size, "num_workers": args.workers, "pin_memory": True}
    train_set, val_set = Series(args.files[held_out:], args.window), Series(args.files[:held_out], args.window)
    train_loader = DataLoader(train_set, shuffle=True, drop_last=True, persistent_workers=True, **options)
    val_loader = DataLoader(val_set, **options)
    train(tree, train_loader, optimizer, args)
    print("validation", validate(tree, val_loader))
    torch.save(tree.state_dict(), "tree.pt")


if __name__ == "__main__":
    main()
