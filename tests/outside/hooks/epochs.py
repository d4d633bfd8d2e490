"""A training script without Flyball whose loader has no workers. It trains until a file is there."""

import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset


def main(end: Path) -> None:
    """Train epoch by epoch with an evaluation after each, and print how many workers each epoch had."""
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(16, 8))
    training, evaluation = DataLoader(data, batch_size=4, shuffle=True), DataLoader(data, batch_size=8)
    while not end.exists():
        for (inputs,) in training:
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
            time.sleep(0.02)
        with torch.no_grad():
            losses = [model(inputs).square().mean() for (inputs,) in evaluation]
        print(training.num_workers, evaluation.num_workers, len(losses), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
