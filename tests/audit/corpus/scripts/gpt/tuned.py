"""Trains a small GPT on a file of tokens: `torchrun --nproc-per-node 8 train.py data/`."""

import argparse
import contextlib
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
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


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
        self.register_buffer("places", torch.arange(length), persistent=False)

    def forward(self, ids, targets=None):
        x = self.tokens(ids) + self.positions(self.places[: ids.size(1)])
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Batches:
    """Draws batches of a file; the map is opened anew each time, so that its pages can be let go."""

    def __init__(self, path, batch_size, length, device):
        self.path, self.batch_size, self.length, self.device = path, batch_size, length, device

    def draw(self):
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        starts = torch.randint(len(data) - self.length - 1, (self.batch_size,)).tolist()
        rows = np.stack([data[i : i + self.length + 1] for i in starts]).astype(np.int64)
        both = torch.from_numpy(rows).pin_memory().to(self.device, non_blocking=True)
        return both[:, :-1], both[:, 1:]


@torch.no_grad()
def evaluate(model, batches, iterations):
    model.eval()
    total = torch.zeros((), device=batches.device)
    for _ in range(iterations):
        x, y = batches.draw()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            _, loss = model(x, y)
        total += loss
    model.train()
    return total.item() / iterations


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
    parser.add_argument("--log-every", type=int, default=10)
    return parser.parse_args()


def main():
    args = parse()
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    master_process = rank == 0
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    torch.manual_seed(1337 + rank)
    torch.set_float32_matmul_precision("high")
    train = Batches(args.data / "train.bin", args.batch_size, args.length, device)
    held_out = Batches(args.data / "val.bin", 2 * args.batch_size, args.length, device)

    network = GPT(50_304, args.length, 768, 12, 12).to(device)
    model = DDP(torch.compile(network), device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    logged_at, logged_step = time.perf_counter(), 0
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        step_loss = torch.zeros((), device=device)
        for micro in range(args.accumulate):
            x, y = train.draw()
            with contextlib.nullcontext() if micro == args.accumulate - 1 else model.no_sync():
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    _, loss = model(x, y)
                loss = loss / args.accumulate
                loss.backward()
            step_loss += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % args.log_every == 0 and master_process:
            text = f"step {step}: loss {step_loss.item():.4f}, gradient {norm.item():.3f}"
            now = time.perf_counter()
            tokens = (step - logged_step) * args.accumulate * args.batch_size * args.length
            print(f"{text}, {tokens / (now - logged_at):.0f} tokens/s")
            logged_at, logged_step = now, step
        if step % args.eval_every == 0:
            loss = evaluate(model, held_out, args.eval_iters)
            if master_process:
                print(f"step {step}: validation {loss:.4f}")
                torch.save(network.state_dict(), args.data / "checkpoint.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
