"""A tiny language model whose loss is normalised by tokens, and failures of memory that are planned."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

VOCABULARY, WIDTH, LENGTH, PER_RANK = 31, 16, 6, 8


class TinyLanguageModel(torch.nn.Module):
    """Embedding, one hidden layer, head. A part of it may be unused, or have statistics of the batch."""

    def __init__(self, dtype: Any, *, unused: bool = False, norm: bool = False, buffer: bool = False) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH, dtype=dtype)
        self.hidden = torch.nn.Linear(WIDTH, WIDTH, dtype=dtype)
        self.norm = torch.nn.BatchNorm1d(WIDTH, dtype=dtype) if norm else torch.nn.Identity()
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, dtype=dtype)
        self.unused = torch.nn.Linear(WIDTH, WIDTH, dtype=dtype) if unused else None
        if buffer:
            self.register_buffer("scale", torch.ones(1, dtype=dtype))

    def forward(self, ids: Any) -> Any:
        """Return the logits."""
        hidden = torch.nn.functional.gelu(self.hidden(self.embedding(ids)))
        hidden = hidden * getattr(self, "scale", 1)
        return self.head(self.norm(hidden.flatten(0, 1)).unflatten(0, hidden.shape[:2]))


@dataclass(frozen=True)
class Fault:
    """Memory runs out once, in a step and in one of its slices, counted from 0; -1 is the last."""

    step: int
    where: str
    piece: int = 0
    times: int = 1


@dataclass
class Faults:
    """Raises what the allocator of a GPU raises, as planned."""

    planned: Iterable[Fault] = ()
    step: int = 0
    slices: int = 1
    _piece: int = 0
    _fired: dict[Fault, int] = field(default_factory=dict)

    def watch(self, module: torch.nn.Module) -> None:
        """Let the forward or backward pass of a module fail."""
        module.register_forward_hook(self._after_forward)

    def begin(self, step: int, slices: int) -> None:
        """Begin a batch."""
        self.step, self.slices, self._piece = step, slices, 0

    def _due(self, where: str) -> bool:
        for fault in self.planned:
            is_here = (fault.step, fault.where, fault.piece % self.slices) == (self.step, where, self._piece)
            if is_here and self._fired.get(fault, 0) < fault.times:
                self._fired[fault] = self._fired.get(fault, 0) + 1
                self._piece = 0
                return True
        return False

    def after_model(self) -> None:
        """Let the loss fail, behind the forward pass of the model."""
        self._piece -= 1
        if self._due("loss"):
            raise_out_of_memory()
        self._piece += 1

    def _after_forward(self, module: object, inputs: object, output: Any) -> None:
        del module, inputs
        if not torch.is_grad_enabled():
            return
        if self._due("forward"):
            raise_out_of_memory()
        backward = self._due("backward")
        if not backward:
            self._piece += 1
        if backward:
            output.register_hook(raise_out_of_memory)


def raise_out_of_memory(gradient: object = None) -> None:
    """Raise what PyTorch raises."""
    del gradient
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.00 GiB.")


@dataclass(frozen=True)
class Batch:
    """A rank's share of a step. A data class is one of the forms that are sliced."""

    ids: Any
    labels: Any


def batches(steps: int, rank: int = 0, world: int = 1, rows: int = PER_RANK) -> list[tuple[Batch, int]]:
    """Return the batches of a rank, and the number of tokens that all ranks have in each."""
    generator = torch.Generator().manual_seed(7)
    found = []
    for _ in range(steps):
        ids = torch.randint(VOCABULARY, (world * rows, LENGTH), generator=generator)
        labels = torch.randint(VOCABULARY, (world * rows, LENGTH), generator=generator)
        labels[torch.rand(labels.shape, generator=generator) < 0.3] = -100
        own = slice(rank * rows, (rank + 1) * rows)
        found.append((Batch(ids[own], labels[own]), int((labels != -100).sum())))
    return found


def loss_of(model: Any, batch: Batch) -> Any:
    """Return the sum of the losses of all tokens."""
    logits = model(batch.ids)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), reduction="sum")


def train(
    model: Any,
    data: list[tuple[Batch, int]],
    micro_batches: Any,
    *,
    faults: Faults | None = None,
    world: int = 1,
    autocast: bool = False,
    after_step: Callable[[], None] = lambda: None,
) -> list[float]:
    """Train with AdamW and clipping. Return the losses. Without micro-batches, each batch is computed as a whole."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step, (batch, tokens) in enumerate(data):

        def part(piece: Batch, tokens: int = tokens) -> Any:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                loss = loss_of(model, piece)
            if faults is not None:
                faults.after_model()
            (loss * world / tokens).backward()
            return loss.detach() / tokens

        if micro_batches is None:
            loss = part(batch)
        else:
            if faults is not None:
                faults.begin(step, max(1, len(batch.ids) // micro_batches.micro))
            loss = micro_batches.accumulate(part, batch, model=model, clear=optimizer.zero_grad)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss))
        after_step()
    return losses


def difference(left: list[float], right: list[float]) -> float:
    """Return the largest relative difference."""
    return max(abs(a - b) / max(abs(b), 1e-300) for a, b in zip(left, right, strict=True))
