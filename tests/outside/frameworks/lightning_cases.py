"""Trainings with Lightning in one process: `lightning_cases.py FOLDER`. Prints what it saw, as JSON.

The test reads what was reported. Importing the package takes seconds, so all cases share a process.
"""

import json
import logging
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset

import flyball

FOLDER = Path(sys.argv[1])
sys.path[0] = str(Path(__file__).parents[3])  # not this folder: a module in it must not hide a package

from tests.outside.frameworks.lightning_figures import (  # noqa: E402
    EVALUATION_SECONDS,
    FORWARD_SECONDS,
    SAMPLE_SECONDS,
)

BATCH = 4


class Rows(Dataset[torch.Tensor]):
    """Rows that take a while to read."""

    def __init__(self, count: int, seconds: float = 0.0) -> None:
        self.count, self.seconds = count, seconds

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.full((3,), float(number % 7))


class Model(lightning.LightningModule):
    """A linear model. A certain batch can raise an exception."""

    def __init__(self, raising: BaseException | None = None, *, slow: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.raising, self.slow = raising, slow
        self.losses: list[float] = []

    def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
        if self.raising is not None and number == 2:
            raise self.raising
        time.sleep(FORWARD_SECONDS if self.slow else 0)
        loss = self.layer(batch).pow(2).mean()
        self.losses.append(loss.item())
        return loss

    def validation_step(self, *_: Any) -> None:
        time.sleep(EVALUATION_SECONDS if self.slow else 0)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


class TwoOptimizers(Model):
    """Steps two optimizers for each batch itself."""

    automatic_optimization = False

    def training_step(self, batch: torch.Tensor, _: int) -> dict[str, torch.Tensor]:
        for optimizer in self.optimizers():
            loss = self.layer(batch).pow(2).mean()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return {"loss": loss.detach()}

    def configure_optimizers(self) -> Any:
        return [torch.optim.SGD(self.parameters(), lr=0.01) for _ in range(2)]


def loader(batches: int, seconds: float = 0.0) -> DataLoader[torch.Tensor]:
    """Return a loader of small batches."""
    return DataLoader(Rows(BATCH * batches, seconds), batch_size=BATCH)


def trainer(callback: Any = None, module: Any = lightning, **more: Any) -> Any:
    """Return a quiet trainer on the CPU."""
    defaults = {
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "default_root_dir": str(FOLDER),
    }
    own = more.pop("callbacks", [])
    return module.Trainer(callbacks=[*own, *([callback] if callback else [])], **(defaults | more))


def two_ranks() -> object:
    """Two forked processes, whose ranks only Lightning knows."""
    callback = flyball.lightning.Callback(run="ranks")
    trainer(callback, devices=2, strategy="ddp_fork").fit(Model(), loader(6))
    return callback.attachment._run is None


def parts_of_a_step() -> object:
    """Steps of two batches, evaluations after each fourth batch, a checkpoint after each second step."""
    saving = ModelCheckpoint(FOLDER / "parts", every_n_train_steps=2, save_top_k=-1)
    callback = flyball.lightning.Callback(run="parts", labels={"team": "vision"})
    one = trainer(
        callback, enable_checkpointing=True, callbacks=[saving], accumulate_grad_batches=2, val_check_interval=4
    )
    model = Model(slow=True)
    one.fit(model, loader(8, SAMPLE_SECONDS), loader(1))
    return {
        "checkpoints": len(list((FOLDER / "parts").iterdir())),
        "replaced": [name for name in ("save_checkpoint", "_on_before_fetch") if _is_replaced(one, name)],
        "last_loss": model.losses[-1],
    }


def _is_replaced(one: Any, name: str) -> bool:
    return name in one.__dict__ or name in one.fit_loop.epoch_loop.__dict__


def resumed() -> object:
    """A training that continues at a checkpoint."""
    first = trainer(max_steps=3, max_epochs=-1)
    first.fit(Model(), loader(8))
    first.save_checkpoint(FOLDER / "three.ckpt")
    second = trainer(flyball.lightning.Callback(run="resumed"), max_steps=5, max_epochs=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it continues within an epoch
        second.fit(Model(), loader(8), ckpt_path=FOLDER / "three.ckpt", **_unsafe(second))
    return second.global_step


def _unsafe(one: Any) -> dict[str, Any]:
    """Return the option of newer versions to load a checkpoint with any content."""
    names = type(one).fit.__code__.co_varnames
    return {"weights_only": False} if "weights_only" in names else {}


def fitted_twice() -> object:
    """The same callback watches two trainings."""
    callback = flyball.lightning.Callback(run="twice")
    for _ in range(2):
        trainer(callback).fit(Model(), loader(3))
    return callback.run.attempt


def failed() -> object:
    """The third batch raises an exception."""
    callback = flyball.lightning.Callback(run="failed")
    one = trainer(callback)
    try:
        one.fit(Model(ValueError("a bad batch")), loader(4))
    except ValueError as error:
        return [str(error), callback.run.finished, _is_replaced(one, "save_checkpoint")]
    return None


def interrupted() -> object:
    """Ctrl-C in the third batch."""
    callback = flyball.lightning.Callback(run="interrupted")
    handler = signal.getsignal(signal.SIGINT)
    try:
        trainer(callback).fit(Model(KeyboardInterrupt()), loader(4))
    except (KeyboardInterrupt, SystemExit):
        return callback.run.finished
    finally:
        signal.signal(signal.SIGINT, handler)
    return None


def two_optimizers() -> object:
    """A batch with two optimizers is one step."""
    one = trainer(flyball.lightning.Callback(run="optimizers"))
    one.fit(TwoOptimizers(), loader(3))
    return one.global_step


def sent_away() -> object:
    """A copy of the callback, as a strategy that spawns processes makes one for each."""
    copied = pickle.loads(pickle.dumps(flyball.lightning.Callback(run="sent")))  # noqa: S301  written just before
    trainer(copied).fit(Model(), loader(2))
    return True


def attached() -> object:
    """A trainer that exists already. Its checkpoints still come last."""
    one = trainer(enable_checkpointing=True, callbacks=[ModelCheckpoint(FOLDER / "attached")])
    run = flyball.attach(one, run="attached", total_steps=77)
    one.validate(Model(), loader(1), verbose=False)
    one.fit(Model(), loader(2))
    return [run.last_step, isinstance(one.callbacks[-1], ModelCheckpoint)]


class InSlices(Model):
    """Optimizes by hand, with or without slices."""

    automatic_optimization = False

    def __init__(self, *, sliced: bool) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layer = nn.Linear(3, 1)
        self.sliced = sliced
        self.sizes: list[int] = []

    def part(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute a slice of the batch."""
        self.sizes.append(len(rows))
        loss = (self.layer(rows) - 1).pow(2).sum() / BATCH
        self.manual_backward(loss)
        return loss.detach()

    def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
        optimizer = self.optimizers()
        optimizer.zero_grad()
        if self.sliced:
            loss = self.flyball.batch.accumulate(self.part, batch, clear=optimizer.zero_grad)
        else:
            loss = self.part(batch)
        optimizer.step()
        self.losses.append(loss.item())
        return loss


class Changing(lightning.Callback):
    """Changes a value after a batch, as the protocol does."""

    def __init__(self, run: Callable[[], flyball.Run], plan: Mapping[int, tuple[str, object]]) -> None:
        self.run, self.plan = run, plan

    def on_train_start(self, *_: Any) -> None:
        assert self.run().adjustments  # as with an agent that allows adjustments

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step in self.plan:
            name, to = self.plan[trainer.global_step]
            value = self.run().adjustments.values[name]
            assert value.objection(to) == "", value.objection(to)
            value.change(to)


def in_slices() -> object:
    """Manual optimization: whole batches, then slices of one after the second step."""
    whole = InSlices(sliced=False)
    trainer().fit(whole, loader(4))
    callback = flyball.lightning.Callback(run="slices", per_rank=BATCH, normalised="samples")
    model = InSlices(sliced=True)
    trainer(callback, callbacks=[Changing(lambda: callback.run, {2: ("micro_batch", 1)})]).fit(model, loader(4))
    return {
        "difference": max(abs(a - b) for a, b in zip(model.losses, whole.losses, strict=True)),
        "weights": (model.layer.weight - whole.layer.weight).abs().max().item(),
        "sizes": model.sizes,
        "left": hasattr(model, "flyball"),
    }


def without_a_size() -> object:
    """The script uses `self.flyball.batch`, and the callback does not know the size of a batch."""
    try:
        trainer(flyball.lightning.Callback(run="no-size")).fit(InSlices(sliced=True), loader(1))
    except ValueError as error:
        return str(error)
    return None


def ranks_in_slices() -> object:
    """Two processes that Lightning forks, with DistributedDataParallel and manual optimization."""
    callback = flyball.lightning.Callback(run="slices-ranks", per_rank=BATCH, micro=2, normalised="samples")
    found = []
    for model, one in ((InSlices(sliced=False), None), (InSlices(sliced=True), callback)):
        path = FOLDER / f"slices-{model.sliced}"
        writing = Writing(path)
        trainer(one, devices=2, strategy="ddp_fork", callbacks=[writing]).fit(model, loader(10))
        found.append([json.loads(Path(f"{path}-{rank}").read_text()) for rank in range(2)])
    return found


class Writing(lightning.Callback):
    """Writes the losses of a rank into a file: its process ends with the training."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_end(self, one: Any, module: Any) -> None:
        Path(f"{self.path}-{one.global_rank}").write_text(json.dumps([module.losses, module.sizes]))


def workers() -> object:
    """Automatic optimization: a worker from the next epoch on, and a checkpoint because it was asked for."""
    callback = flyball.lightning.Callback(run="workers")
    plan = {1: ("loader_workers", 1), 3: ("checkpoint_now", True)}
    numbers: list[int] = []
    items = loader(2)

    class Counting(lightning.Callback):
        """Keeps the number of workers at each step."""

        def on_train_batch_end(self, *_: Any) -> None:
            numbers.append(items.num_workers)

    saving = ModelCheckpoint(FOLDER / "wanted")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = trainer(
            callback,
            enable_checkpointing=True,
            max_epochs=3,
            callbacks=[Changing(lambda: callback.run, plan), Counting(), saving],
        )
        one.fit(Model(), items)
    saved = torch.load(FOLDER / "wanted" / "flyball.ckpt", weights_only=False)
    return {"workers": numbers, "step": saved["global_step"], "values": sorted(callback.run.adjustments.values)}


def under_the_old_name() -> object:
    """The package pytorch_lightning, which accepts callbacks made from its own class only."""
    earlier = flyball.lightning.Callback(run="earlier")
    import pytorch_lightning  # noqa: PLC0415  the cases before have only the other one

    class OldModel(pytorch_lightning.LightningModule):
        """A linear model for the other package."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return self.layer(batch).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callback = flyball.lightning.Callback(run="old-name")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    trainer(callback, module=pytorch_lightning).fit(OldModel(), loader(2))
    return [
        isinstance(callback, pytorch_lightning.Callback) and isinstance(callback, lightning.pytorch.Callback),
        type(pickle.loads(pickle.dumps(earlier))) is type(earlier),  # noqa: S301  written just before
    ]


CASES: tuple[Callable[[], object], ...] = (
    two_ranks,  # first: PyTorch refuses to fork after a backward pass
    ranks_in_slices,
    parts_of_a_step,
    resumed,
    fitted_twice,
    failed,
    interrupted,
    two_optimizers,
    sent_away,
    attached,
    in_slices,
    without_a_size,
    workers,
    under_the_old_name,
)

if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    seen = {case.__name__: case() for case in CASES}
    print(json.dumps(seen))
