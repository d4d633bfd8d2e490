"""Trainings with Hugging Face's Trainer in one process: `trainer_cases.py FOLDER`. Prints what it saw, as JSON.

The test reads what was reported. Importing the package takes seconds, so all cases share a process.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

import flyball

FOLDER = Path(sys.argv[1])
sys.path[0] = str(Path(__file__).parents[3])  # not this folder: a module in it must not hide a package

from tests.outside.frameworks.trainer_figures import EVALUATION_SECONDS, SAMPLE_SECONDS  # noqa: E402


class Model(nn.Module):
    """Predicts the next token. From a certain call on, its loss is NaN."""

    def __init__(self, bad_from: int | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10)
        self.calls = 0
        self.bad_from = bad_from

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.calls += 1
        loss = nn.functional.cross_entropy(self.head(self.embedding(input_ids)).flatten(0, 1), labels.flatten())
        if self.bad_from is not None and self.calls >= self.bad_from:
            loss = loss * float("nan")
        return {"loss": loss, "logits": loss.detach().reshape(1)}


class CountingModel(Model):
    """Divides its loss by the number of labels in the whole step, as models of the package do."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor, **counts: Any) -> dict[str, torch.Tensor]:
        found = super().forward(input_ids, labels)
        return found | {"loss": found["loss"] * labels.numel() / counts.get("num_items_in_batch", labels.numel())}


class Samples(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Sequences of five tokens, some of which take a while or cannot be read."""

    def __init__(self, count: int, *, seconds: float = 0.0, missing: int | None = None) -> None:
        self.count, self.seconds, self.missing = count, seconds, missing

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        time.sleep(self.seconds)
        if number == self.missing:
            raise OSError("this sample cannot be read")
        row = (torch.arange(5) + number) % 10
        return {"input_ids": row, "labels": row}


class InOrder(Trainer):
    """Takes the samples in their order."""

    def _get_train_sampler(self, *_: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def trainer(data: Samples, *, steps: int, model: Model | None = None, **more: Any) -> Trainer:
    """Return a trainer with four samples in a batch."""
    defaults = {
        "output_dir": str(FOLDER / "trainer"),
        "max_steps": steps,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "save_strategy": "no",
        "use_cpu": True,
        "report_to": [],
        "disable_tqdm": True,
    }
    arguments = TrainingArguments(**(defaults | more))
    return InOrder(
        model=model or Model(),
        args=arguments,
        train_dataset=data,
        eval_dataset=Samples(4, seconds=EVALUATION_SECONDS / 4),
    )


def parts_of_a_step() -> object:
    """Two slow batches in each step, evaluations and checkpoints."""
    one = trainer(
        Samples(48, seconds=SAMPLE_SECONDS),
        steps=4,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=3,
    )
    before = [type(each).__name__ for each in one.callback_handler.callbacks]
    run = flyball.attach(one, run="parts", labels={"team": "nlp"})
    one.train()
    return {
        "callbacks": [before, [type(each).__name__ for each in one.callback_handler.callbacks]],
        "replaced": sorted(set(one.__dict__) & {"get_batch_samples", "compute_loss"}),
        "losses": [entry["loss"] for entry in one.state.log_history if "loss" in entry],
        "last_step": run.last_step,
        "finished": run.finished,
    }


def resumed() -> object:
    """A training that continues at a checkpoint."""
    first = trainer(Samples(40), steps=4, save_strategy="steps", save_steps=3)
    first.train()
    second = trainer(Samples(40), steps=6)
    flyball.attach(second, run="resumed")
    second.train(resume_from_checkpoint=str(FOLDER / "trainer" / "checkpoint-3"))
    return second.state.global_step


def trained_twice() -> object:
    """The same trainer trains again from the start."""
    one = trainer(Samples(40), steps=3)
    run = flyball.attach(one, run="twice")
    one.train()
    one.train()
    return run.attempt


def failed() -> object:
    """A sample of the third batch cannot be read. After that the same trainer trains to the end."""
    data = Samples(40, missing=9)
    one = trainer(data, steps=4)
    run = flyball.attach(one, run="failed")
    try:
        one.train()
    except OSError as error:
        raised = str(error)
    finished, replaced = run.finished, sorted(set(one.__dict__) & {"get_batch_samples", "compute_loss"})
    data.missing = None
    one.train()
    return {"raised": raised, "finished": finished, "replaced": replaced}


def not_a_number() -> object:
    """The loss is NaN from the third batch on. Trainer itself logs the mean of earlier losses instead."""
    one = trainer(Samples(40), steps=4, model=Model(bad_from=3))
    flyball.attach(one, run="nan")
    one.train()
    return [entry["loss"] for entry in one.state.log_history if "loss" in entry]


def counted_tokens() -> object:
    """The loss of each of two batches is divided by the tokens of both."""
    one = trainer(Samples(40), steps=3, model=CountingModel(), gradient_accumulation_steps=2)
    flyball.attach(one, run="counted")
    one.train()
    return [entry["loss"] for entry in one.state.log_history if "loss" in entry]


def own_run() -> object:
    """The script has opened the run itself, and goes on with it after the training."""
    with flyball.run("own", total_steps=77) as run:
        one = trainer(Samples(40), steps=3)
        attached = flyball.attach(one, run=run)
        one.train()
        return [attached is run, run.finished, run.last_step]


def sent_away() -> object:
    """A copy in another process trains, as searches for hyperparameters do; here the copy is made in this one."""
    one = trainer(Samples(40), steps=2)
    flyball.attach(one, run="sent")
    copied = cloudpickle.loads(cloudpickle.dumps(one))
    copied.train()
    return copied.state.global_step


def evaluated_alone() -> object:
    """An evaluation outside of a training does not belong to the run."""
    one = trainer(Samples(40), steps=2)
    run = flyball.attach(one, run="evaluated")
    one.evaluate()
    one.train()
    one.evaluate()
    return run.last_step


CASES: tuple[Callable[[], object], ...] = (
    sent_away,  # first: after a training, no trainer of this process can be copied
    parts_of_a_step,
    resumed,
    trained_twice,
    failed,
    not_a_number,
    counted_tokens,
    own_run,
    evaluated_alone,
)

if __name__ == "__main__":
    seen = {case.__name__: case() for case in CASES}
    print(json.dumps(seen))
