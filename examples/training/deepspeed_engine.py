"""An engine of DeepSpeed on one device.

    deepspeed examples/training/deepspeed_engine.py --steps 50

Without the launcher, set the variables that it sets: RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1
MASTER_PORT=29500.
"""

import argparse

import deepspeed
import torch
from torch import nn

import flyball

CONFIGURATION = {
    "train_micro_batch_size_per_gpu": 16,
    "gradient_accumulation_steps": 2,
    "optimizer": {"type": "SGD", "params": {"lr": 0.05}},
}


def train(steps: int) -> None:
    """Train with two batches in each step."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIGURATION)
    run = flyball.attach(engine, run="deepspeed-engine", total_steps=steps)  # the only line for Flyball
    for batch in range(2 * steps):
        points = torch.randn(16, 8, device=engine.device)
        loss = nn.functional.mse_loss(engine(points), points.sum(1, keepdim=True))
        engine.backward(loss)
        engine.step()
        print(f"batch {batch + 1:>3}  loss {loss.item():.9g}")
    run.finish()


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--local_rank", type=int, default=0, help="passed by the launcher")
    train(parser.parse_args().steps)


if __name__ == "__main__":
    main()
