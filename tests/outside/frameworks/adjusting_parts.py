"""Rows, models and trainers of adjusting_cases.py, and memory that runs out as planned."""

import functools
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

FOLDER = Path(sys.argv[1])

LENGTH, BATCH, STEPS = 8, 8, 6


class Rows(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Sequences that count upwards, of which some positions are not predicted."""

    def __init__(self, count: int, *, extra: bool = False) -> None:
        self.count, self.extra = count, extra

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        row = (torch.arange(LENGTH) + 3 * number) % 50
        labels = torch.where(torch.arange(LENGTH) < number % 5, -100, row)
        return {"input_ids": row, "labels": labels}


def collate_with_patches(rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return a batch with a tensor whose first dimension is not the number of samples."""
    batch = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    return batch | {"patches": torch.zeros(3 * len(rows), 2)}


def collate_without_first_labels(rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return a batch whose first sample has no label that counts."""
    batch = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    batch["labels"][0] = -100
    return batch


class Plain(nn.Module):
    """A model with `**kwargs` that ignores the number of items: its loss is a mean over the batch."""

    def __init__(self, *, norm: bool = False) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(50, 8), nn.Linear(8, 50)
        self.norm = nn.BatchNorm1d(8) if norm else nn.Identity()
        self.divides = norm

    def forward(self, input_ids: Any, labels: Any, num_items_in_batch: Any = None, **_: Any) -> Any:
        hidden = self.norm(self.embedding(input_ids).transpose(1, 2)).transpose(1, 2)
        reduction = "sum" if self.divides else "mean"
        loss = nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), labels.flatten(), reduction=reduction)
        return {"loss": loss / num_items_in_batch if self.divides else loss}


class Strict(Plain):
    """A model that does not take the number of items."""

    def forward(self, input_ids: Any, labels: Any) -> Any:  # type: ignore[override]
        return super().forward(input_ids, labels)


class Seen(TrainerCallback):
    """Calls a function after each step, and keeps what the training had then."""

    def __init__(self, after_step: Callable[[int], object]) -> None:
        self.after_step = after_step

    def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
        self.after_step(state.global_step)


def gpt2(dropout: float = 0.0) -> GPT2LMHeadModel:
    """Return a tiny GPT-2."""
    quiet = {"resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": dropout}
    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=LENGTH, n_embd=16, n_layer=2, n_head=2, **quiet))


def trainer(
    after_step: Callable[[int], object] = lambda _: None,
    *,
    make: Callable[[], Any] = gpt2,
    kind: type[Trainer] = Trainer,
    collate: Any = None,
    steps: int = STEPS,
    count: int = 400,
    **more: Any,
) -> Trainer:
    """Return a trainer of a tiny model."""
    set_seed(7)
    defaults = {
        "output_dir": str(FOLDER / "trainer"),
        "max_steps": steps,
        "per_device_train_batch_size": BATCH,
        "gradient_accumulation_steps": 2,
        "logging_steps": 1,
        "save_strategy": "no",
        "use_cpu": True,
        "report_to": [],
        "disable_tqdm": True,
        "learning_rate": 1e-3,
    }
    arguments = TrainingArguments(**(defaults | more))
    return kind(
        model=make(), args=arguments, train_dataset=Rows(count), data_collator=collate, callbacks=[Seen(after_step)]
    )


def figures(one: Trainer) -> list[tuple[float, float]]:
    """Return the loss and the norm of the gradients of each step."""
    return [(entry["loss"], entry["grad_norm"]) for entry in one.state.log_history if "loss" in entry]


def sizes_of(one: Trainer) -> list[int]:
    """Let a trainer keep the number of samples in each call of its model. Return the list that grows."""
    found: list[int] = []
    one.model.register_forward_pre_hook(
        lambda _, __, named: found.append(len(named["input_ids"])),
        with_kwargs=True,
    )
    return found


@functools.cache
def undisturbed(**more: Any) -> list[tuple[float, float]]:
    """Return the figures of a training without Flyball."""
    one = trainer(**more)
    one.train()
    return figures(one)


def largest_difference(ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> float:
    """Return the largest relative difference of two trainings."""
    assert len(ours) == len(theirs) == STEPS
    pairs = [pair for each in zip(ours, theirs, strict=True) for pair in zip(*each, strict=True)]
    return max(abs(a - b) / abs(b) for a, b in pairs)


class Failing:
    """Raises what an allocator raises, the first times that a model gets more than some samples."""

    def __init__(self, most: int, *, first_call: int = 0, times: int = 99, in_backward: bool = False) -> None:
        self.most, self.first_call, self.times, self.in_backward = most, first_call, times, in_backward
        self.calls = self.failures = 0
        self.held: list[weakref.ref[torch.Tensor]] = []  # tensors of the passes that failed
        self.are_released = True  # whenever the model was called again

    def watch(self, model: nn.Module) -> None:
        """Let the embedding of a model fail."""
        model.get_input_embeddings().register_forward_hook(self._after)

    def _after(self, _: Any, inputs: Any, output: torch.Tensor) -> None:
        if not torch.is_grad_enabled():
            return  # Flyball looks at the loss of one sample
        self.calls += 1
        self.are_released = self.are_released and all(each() is None for each in self.held)
        if self.calls <= self.first_call or len(inputs[0]) <= self.most or self.failures >= self.times:
            return
        if self.in_backward:
            output.register_hook(self._fail)
        else:
            self._fail()

    def _fail(self, *_: Any) -> None:
        self.failures += 1
        activations = torch.zeros(1)
        self.held.append(weakref.ref(activations))
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


class WithEmbedding(Plain):
    """A model whose loss is a mean, with the method for its embedding."""

    def get_input_embeddings(self) -> Any:
        return self.embedding


class Patched(Plain):
    """A model with another input. Its loss is divided by the number of items."""

    def forward(self, input_ids: Any, labels: Any, num_items_in_batch: Any = None, **_: Any) -> Any:
        self.divides = True
        return super().forward(input_ids, labels, num_items_in_batch)
