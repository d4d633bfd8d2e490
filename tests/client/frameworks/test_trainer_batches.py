"""Test what a trainer's batches report about themselves. What they compute is in tests/outside, with real trainers."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from flyball.adjustments.restart_state import remember
from flyball.frameworks.trainer_batches import TrainerBatches
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent
from tests.client.adjustments.conftest import adjusted
from tests.client.training.standin_cuda import put_into_torch

__all__ = ["adjusted"]

torch = pytest.importorskip("torch", reason="torch is not installed")

Opened = Callable[..., tuple[AdjustingAgent, Run]]


def test_memory_that_no_slice_changes_is_a_fact(adjusted: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a step, what is left on the GPU belongs to weights and optimizer; the gradients will come back."""
    put_into_torch(monkeypatch)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 12_345)
    agent, run = adjusted()
    arguments = SimpleNamespace(train_batch_size=8, world_size=1)
    model = torch.nn.Linear(10, 5, bias=False)
    batches = TrainerBatches(SimpleNamespace(args=arguments, model=model), run, len)
    batches.end_step()
    batches.declare()
    batches.end_step()
    run.step()
    run.step()
    facts = agent.values()["micro_batch"]["facts"]
    assert facts == {"per_rank": "8", "normalised": "tokens", "fixed_bytes": str(12_345 + 10 * 5 * 4)}


@pytest.mark.parametrize(("ranks", "size"), [(1, 2), (2, 8)])
def test_a_remembered_size_is_used_by_one_rank(
    adjusted: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ranks: int, size: int
) -> None:
    """After a restart, one rank begins with smaller slices. One of several does so only if all agree."""
    monkeypatch.setenv("FLYBALL_RESTART_STATE", str(tmp_path))
    _, run = adjusted()
    remember("0 adjusted", "micro_batch", 2)
    arguments = SimpleNamespace(train_batch_size=8, world_size=ranks)
    TrainerBatches(SimpleNamespace(args=arguments), run, len).declare()
    assert run.adjustments.values["micro_batch"].now == size
