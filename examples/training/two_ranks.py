"""Two processes train one model with data parallelism. Each is a rank of the same run.

torchrun --nproc-per-node 2 examples/training/two_ranks.py --steps 50
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import flyball


def train(steps: int, rank: int) -> None:
    """Train this rank's share. Rank, world size and run come from torchrun's variables."""
    torch.manual_seed(7)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = torch.Generator().manual_seed(rank)
    with flyball.run("two-ranks", total_steps=steps) as run:
        for step in range(steps):
            points = torch.randn(32, 16, generator=batches)
            run.mark("data")
            loss = nn.functional.mse_loss(model(points), points.sum(1, keepdim=True))
            run.mark("forward")
            optimizer.zero_grad()
            loss.backward()  # contains the exchange of gradients
            run.mark("backward")
            optimizer.step()
            run.mark("optimizer")
            run.step(samples=len(points), loss=loss)
            print(f"rank {rank}  step {step + 1:>3}  loss {loss.item():.9g}", flush=True)


def main() -> None:
    """Join the other process, train and leave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    train(options.steps, int(os.environ["RANK"]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
