"""Trains a small GPT on a file of tokens: `torchrun --nproc-per-node 8 train.py data/`."""

import argparse
import math
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q = q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        mask = torch.tril(torch.ones(length, length, device=x.device)) == 0  # expect: mask-in-forward
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))  # expect: handwritten-attention
        scores = scores.masked_fill(mask, float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        y = weights @ v
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, length, width, heads, depth, dropout=0.0):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, targets=None):
        places = torch.arange(ids.size(1), device=ids.device)
        x = self.tokens(ids) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_batch(data, batch_size, length, device):
    starts = torch.randint(len(data) - length - 1, (batch_size,))
    x = torch.stack([torch.from_numpy(data[i : i + length].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + length].astype(np.int64)) for i in starts])
    return x.to(device), y.to(device)


def evaluate(model, data, args, device):
    model.eval()
    losses = []
    for _ in range(args.eval_iters):
        x, y = get_batch(data, 4, args.length, device)  # expect: literal-eval-batch-size
        _, loss = model(x, y)  # expect: no-grad-missing-in-eval
        losses.append(loss.item())  # expect: sync-in-eval-loop
    model.train()
    return sum(losses) / len(losses)


def learning_rate(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    progress = (step - args.warmup) / max(1, args.steps - args.warmup)
    return 0.1 * args.lr + 0.45 * args.lr * (1 + math.cos(math.pi * min(1.0, progress)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--accumulate", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--warmup", type=int, default=2_000)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--eval-iters", type=int, default=200)
    parser.add_argument("--eval-every", type=int, default=1_000)
    return parser.parse_args()


def main():
    args = parse()
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    torch.manual_seed(1337 + rank)
    train_data = np.memmap(args.data / "train.bin", dtype=np.uint16, mode="r")  # expect: host-memory-growth@note
    val_data = np.memmap(args.data / "val.bin", dtype=np.uint16, mode="r")

    model = GPT(50_304, args.length, 768, 12, 12).to(device)  # expect: no-compile@note
    model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)

    tokens = 0
    start = time.time()
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        step_loss = 0.0
        for _micro in range(args.accumulate):
            x, y = get_batch(train_data, args.batch_size, args.length, device)
            _, loss = model(x, y)  # expect: no-mixed-precision@note
            loss = loss / args.accumulate
            loss.backward()  # expect: allreduce-every-micro-step@warning
            step_loss += loss.item()  # expect: sync-every-step@warning
            tokens += x.numel()
        optimizer.step()  # expect: no-gradient-clipping@note
        optimizer.zero_grad(set_to_none=False)  # expect: zero-grad-to-zero
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning
        if step % 10 == 0 and rank == 0:
            speed = tokens / (time.time() - start)  # expect: cumulative-speed-log
            print(f"step {step}: loss {step_loss:.4f}, {speed:.0f} tokens/s")
        if step % args.eval_every == 0 and rank == 0:
            print(f"step {step}: validation {evaluate(model, val_data, args, device):.4f}")
            torch.save(model.module.state_dict(), args.data / "checkpoint.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
