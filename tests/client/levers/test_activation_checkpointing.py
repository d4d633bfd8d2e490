"""Tests of the switch of activation checkpointing."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from flyball.levers import activation_checkpointing
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent

torch = pytest.importorskip("torch", reason="torch is not installed")

Opened = Callable[..., tuple[AdjustingAgent, Run]]


class Recomputing(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is not followed
    """Two layers with the methods that models of transformers had before version 5."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 64), torch.nn.Linear(64, 1)
        self.recomputes = False
        self.kwargs: list[Any] = []

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: Any = None) -> None:
        warnings.warn("an older name", FutureWarning, stacklevel=2)
        self.kwargs.append(gradient_checkpointing_kwargs)
        self.recomputes = True

    def gradient_checkpointing_disable(self) -> None:
        self.recomputes = False

    @property
    def is_gradient_checkpointing(self) -> bool:
        return self.recomputes

    def forward(self, rows: Any) -> Any:
        hidden = self.first(rows)
        if self.recomputes:
            return torch.utils.checkpoint.checkpoint(self._end, hidden, use_reentrant=False)
        return self._end(hidden)

    def _end(self, hidden: Any) -> Any:
        return self.second(torch.nn.functional.dropout(hidden.tanh(), 0.2, self.training))


def losses(model: Any, switch: Callable[[int], object]) -> list[float]:
    """Train and return the losses. The function is called before each step."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for step in range(6):
        switch(step)
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def made() -> Recomputing:
    """Return a model with known weights."""
    torch.manual_seed(0)
    return Recomputing()


def test_switching_leaves_the_losses_as_they_are(adjusted: Opened) -> None:
    """On at the second step and off at the fourth: every loss has the same bits, dropout included."""
    _, run = adjusted()
    expected = losses(made(), lambda _: None)
    model = made()
    value = activation_checkpointing.declare(run, model)
    assert value is not None
    seen = []

    def switch(step: int) -> None:
        if step in {2, 4}:
            seen.append(value.change(step == 2))

    assert losses(model, switch) == expected
    assert seen == [True, False]
    assert model.kwargs == [{"use_reentrant": False}]


def test_options_of_the_script_are_passed_on(adjusted: Opened) -> None:
    """A model that is switched off and on again has the options that the script had chosen."""
    _, run = adjusted()
    model = made()
    value = activation_checkpointing.declare(run, model, options={"use_reentrant": True})
    assert value is not None
    value.change(True)
    assert model.kwargs == [{"use_reentrant": True}]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: setattr(model, "_compiled_call_impl", model.forward), "compiled"),
        (lambda model: setattr(model, "static_graph", True), "static_graph"),
        (lambda model: setattr(model, "other", 1), ""),
    ],
)
def test_a_model_that_must_not_change_is_vetoed(adjusted: Opened, change: Callable[[Any], Any], reason: str) -> None:
    """A compiled model and a static graph are refused, also if they came after the declaration."""
    _, run = adjusted()
    model = made()
    value = activation_checkpointing.declare(run, model)
    assert value is not None
    change(model)
    assert value.objection(True) == reason


def test_reentrant_checkpoints_are_refused_where_unused_parameters_are_looked_for(adjusted: Opened) -> None:
    """DistributedDataParallel would fail; with checkpoints that are not reentrant it does not."""
    _, run = adjusted()
    for reentrant, reason in ((True, "reentrant"), (False, "")):
        wrapped = torch.nn.Sequential(made())
        wrapped.find_unused_parameters = True
        options = {"use_reentrant": reentrant}
        value = activation_checkpointing.declare(run, wrapped[0], wrapped=wrapped, options=options)
        assert value is not None
        assert value.objection(True) == reason


def test_a_model_without_the_methods_declares_nothing(adjusted: Opened) -> None:
    """A plain module, and a model that does not support it, have no such value."""
    _, run = adjusted()
    assert activation_checkpointing.declare(run, torch.nn.Linear(2, 2)) is None
    unsupported = made()
    unsupported.supports_gradient_checkpointing = False
    assert activation_checkpointing.declare(run, unsupported) is None
    assert "activation_checkpointing" not in run.adjustments.values
