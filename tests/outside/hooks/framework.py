"""Trains with a framework under `flyball run`, then the same without the hooks. Prints the steps, and True if equal."""

import logging
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.data import DataLoader, Dataset, dataloader

SAMPLES = 40


class Rows(Dataset[Any]):
    """Sequences of tokens."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = torch.full((8,), index % 10)
        return {"input_ids": row, "labels": row}


class Network(torch.nn.Module):
    """Predicts tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 8)
        self.dropout = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(8, 10)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the loss."""
        scores = self.head(self.dropout(self.embedding(input_ids)))
        return {"loss": torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())}


def train_with_transformers(folder: str) -> tuple[int, str]:
    """Train two epochs of ten batches, two for each step."""
    import transformers  # noqa: PLC0415  only one framework is needed

    transformers.set_seed(1)
    arguments = transformers.TrainingArguments(
        folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=2, report_to=[],
        disable_tqdm=True, use_cpu=True, save_steps=5,
    )  # fmt: skip
    trainer = transformers.Trainer(model=Network(), args=arguments, train_dataset=Rows())
    result = trainer.train()
    return trainer.state.global_step, float(result.training_loss).hex()


def train_with_lightning(folder: str) -> tuple[int, str]:
    """Train two epochs of ten batches, three for each step, with a validation after each epoch."""
    import lightning  # noqa: PLC0415

    class Module(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]  # not everywhere installed
        def __init__(self) -> None:
            super().__init__()
            self.network = Network()

        def training_step(self, batch: dict[str, torch.Tensor], _index: int) -> torch.Tensor:
            return self.network(**batch)["loss"]

        def validation_step(self, batch: dict[str, torch.Tensor], _index: int) -> None:
            self.log("validation", self.network(**batch)["loss"])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters())

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    lightning.seed_everything(1)
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=2, accumulate_grad_batches=3, logger=False, enable_progress_bar=False, enable_model_summary=False,
        accelerator="cpu", default_root_dir=folder,
    )  # fmt: skip
    trainer.fit(module, DataLoader(Rows(), batch_size=4, shuffle=True), DataLoader(Rows(), batch_size=4))
    return trainer.global_step, sum(each.sum().item() for each in module.parameters()).hex()


def remove_hooks() -> None:
    """Undo what `flyball run` has added to this process."""
    for hooks in (_global_optimizer_pre_hooks, _global_optimizer_post_hooks):
        assert hooks
        hooks.clear()
    for owner, name in ((dataloader._BaseDataLoaderIter, "__next__"), (DataLoader, "__iter__"), (torch, "save")):
        setattr(owner, name, getattr(owner, name).__wrapped__)


def main(train: Callable[[str], tuple[int, str]]) -> None:
    """Train twice."""
    torch.set_num_threads(1)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        hooked = train(folder)
        remove_hooks()
        print(hooked[0], train(folder) == hooked)


if __name__ == "__main__":
    main({"transformers": train_with_transformers, "lightning": train_with_lightning}[sys.argv[1]])
