"""A small classifier trained with Lightning.

python examples/training/lightning_fit.py --steps 50
"""

import argparse
import tempfile

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import flyball

Batch = tuple[torch.Tensor, torch.Tensor]


class Classifier(lightning.LightningModule):
    """Predicts on which side of a plane a point lies."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def training_step(self, batch: Batch, number: int) -> torch.Tensor:
        points, sides = batch
        loss = nn.functional.cross_entropy(self.layers(points), sides)
        print(f"batch {self.trainer.global_step:>3}.{number % 2}  loss {loss.item():.9g}")
        return loss

    def validation_step(self, batch: Batch, _: int) -> None:
        points, sides = batch
        self.log("accuracy", (self.layers(points).argmax(1) == sides).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loader(count: int, seed: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Return random points with the side of a plane on which they lie."""
    points = torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))
    return DataLoader(TensorDataset(points, (points.sum(1) > 0).long()), batch_size=16)


def train(steps: int, folder: str) -> None:
    """Train with two batches in each step."""
    lightning.seed_everything(7, verbose=False)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=steps,
        accumulate_grad_batches=2,
        val_check_interval=20,
        callbacks=[flyball.lightning.Callback(run="lightning-fit")],  # the only line for Flyball
        logger=False,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), loader(640, seed=1), loader(64, seed=2))


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train(options.steps, folder)


if __name__ == "__main__":
    main()
