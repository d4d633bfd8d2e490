"""A loop with Accelerate. Report the loop as in plain PyTorch; only the optimizer's real steps end a step.

`run.batch` computes each batch in slices whose size Flyball may change, and repeats a batch that runs out of memory.

accelerate launch examples/training/accelerate_loop.py --steps 50
"""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import flyball

BATCH = 16  # samples of a rank


def train(steps: int) -> None:
    """Train with two batches in each step."""
    set_seed(7)
    points = torch.randn(320, 8)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(TensorDataset(points, points.sum(1, keepdim=True)), batch_size=BATCH, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    rank, ranks = accelerator.process_index, accelerator.num_processes
    step = samples = 0
    with flyball.run("accelerate-loop", total_steps=steps, rank=rank, world_size=ranks) as run:
        batches = run.batch(per_rank=BATCH, micro=BATCH, normalised="samples")

        def part(data: list[torch.Tensor]) -> torch.Tensor:
            """Compute a slice. Its loss is divided by the samples of the whole batch, so that slices add up."""
            inputs, targets = data
            loss = nn.functional.mse_loss(model(inputs), targets, reduction="sum") / BATCH
            run.mark("forward")
            accelerator.backward(loss)
            run.mark("backward")
            return loss.detach()

        while step < steps:
            for data in run.data(loader):
                with accelerator.accumulate(model):
                    # Not optimizer.zero_grad: Accelerate's does nothing while gradients are accumulated.
                    clear, last = model.zero_grad, accelerator.sync_gradients
                    loss = batches.accumulate(part, data, model=model, clear=clear, last=last)
                    optimizer.step()
                    optimizer.zero_grad()
                samples += len(data[0])
                if accelerator.sync_gradients:  # the optimizer has stepped
                    run.mark("optimizer")
                    run.step(samples=samples, loss=loss)
                    step, samples = step + 1, 0
                    print(f"step {step:>3}  loss {loss.item():.9g}")
                    if step == steps:
                        break


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    train(parser.parse_args().steps)


if __name__ == "__main__":
    main()
