"""The memory of gradients that are not there between two steps."""

from collections.abc import Callable

import pytest

from flyball.micro_batches.gradients import missing_bytes
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent
from tests.client.adjustments.conftest import adjusted
from tests.client.training.standin_cuda import put_into_torch

__all__ = ["adjusted"]

torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def test_gradients_that_a_backward_pass_will_add_are_counted() -> None:
    """Those that are there are part of what is allocated already, and frozen parameters get none."""
    model = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.Linear(5, 2, dtype=torch.float64))
    assert missing_bytes(model, model.parameters()) == (10 * 5 + 5) * 4 + (5 * 2 + 2) * 8
    model[0].requires_grad_(False)
    assert missing_bytes(model, model.parameters()) == (5 * 2 + 2) * 8
    model[1](torch.ones(1, 5, dtype=torch.float64)).sum().backward()
    assert missing_bytes(model, model.parameters()) == 0


def test_gradients_in_the_buckets_of_ddp_are_allocated_already() -> None:
    """With `gradient_as_bucket_view`, the buckets stay in memory between the steps."""
    model = torch.nn.Linear(10, 5)
    model.gradient_as_bucket_view = True
    assert missing_bytes(model, model.parameters()) == 0


def test_what_no_slice_changes_includes_the_gradients(adjusted: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The governor gets weights, optimizer states and gradients as one fact, although gradients are gone by then."""
    put_into_torch(monkeypatch)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 1000)
    _, run = adjusted()
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    model = torch.nn.Linear(3, 1, bias=False)
    for _ in range(4):
        batch.accumulate(lambda part: model(part).sum(), torch.ones(4, 3), model=model, clear=model.zero_grad)
        model.zero_grad()
        run.step()
    assert run.adjustments.values["micro_batch"].facts["fixed_bytes"] == str(1000 + 3 * 4)


def test_parameters_without_a_size_do_not_reach_the_training(adjusted: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lazy module that no batch has used has none yet: the fixed memory stays unknown."""
    put_into_torch(monkeypatch)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 1000)
    _, run = adjusted()
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    model = torch.nn.ModuleDict({"used": torch.nn.Linear(3, 1), "unused": torch.nn.LazyLinear(3)})
    for _ in range(4):
        batch.accumulate(lambda part: model["used"](part).sum(), torch.ones(4, 3), model=model, clear=model.zero_grad)
        model.zero_grad()
        run.step()
    assert "fixed_bytes" not in run.adjustments.values["micro_batch"].facts
