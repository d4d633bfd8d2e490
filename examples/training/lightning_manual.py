"""Manual optimization with Lightning: `self.flyball.batch` computes each batch in slices that Flyball may change.

python examples/training/lightning_manual.py --steps 50
"""

import argparse
import tempfile

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import flyball

BATCH = 16  # samples of a rank

Batch = list[torch.Tensor]


class Classifier(lightning.LightningModule):
    """Predicts on which side of a plane a point lies."""

    automatic_optimization = False

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def part(self, batch: Batch) -> torch.Tensor:
        """Compute a slice. Its loss is divided by the samples of the whole batch, so that slices add up."""
        points, sides = batch
        loss = nn.functional.cross_entropy(self.layers(points), sides, reduction="sum") / BATCH
        self.manual_backward(loss)
        return loss.detach()

    def training_step(self, batch: Batch, _: int) -> torch.Tensor:
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = self.flyball.batch.accumulate(self.part, batch, clear=optimizer.zero_grad)
        optimizer.step()
        print(f"step {self.trainer.global_step:>3}  loss {loss.item():.9g}")
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train(steps: int, folder: str) -> None:
    """Train in whole batches, until Flyball changes the size of the slices."""
    lightning.seed_everything(7, verbose=False)
    points = torch.randn(320, 8)
    loader = DataLoader(TensorDataset(points, (points.sum(1) > 0).long()), batch_size=BATCH)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=steps,
        callbacks=[flyball.lightning.Callback(run="lightning-manual", per_rank=BATCH, normalised="samples")],
        logger=False,
        enable_checkpointing=False,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), loader)


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train(options.steps, folder)


if __name__ == "__main__":
    main()
