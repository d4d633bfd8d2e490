"""The losses of a run: the last one is reported, and no graph is kept in memory for it."""

import gc
import weakref
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run, steps_of

HOUR_NS = 3600 * 10**9


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ListeningSocket]:
    """Yield a listening socket."""
    with ListeningSocket(tmp_path / "agent.sock") as listening:
        yield listening


def last_loss(run: Run, agent: ListeningSocket, *losses: object) -> object:
    """Return the loss in the last report of a run with these losses."""
    for loss in losses:
        run.step(loss=loss)
    run.finish()
    return steps_of(agent.lines())[-1].get("loss")


@pytest.mark.parametrize("kind", [float, Decimal, np.float32, np.array])
def test_the_last_loss_of_a_short_run_is_reported(agent: ListeningSocket, kind: type) -> None:
    """Also if it ends before the next report is due."""
    run = open_run(agent.path, report_ns=HOUR_NS)
    assert last_loss(run, agent, *[kind(value) for value in (3.0, 2.0, 1.0)]) == 1.0


def test_the_last_loss_may_be_a_tensor_which_is_not_kept(agent: ListeningSocket) -> None:
    """A reference to it would keep the activations of a whole step."""
    torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")
    run = open_run(agent.path, report_ns=HOUR_NS)
    weight = torch.ones(2, requires_grad=True)
    for _ in range(3):
        loss = (weight * 3).sum()
        run.step(loss=loss)
        gone = weakref.ref(loss)
        del loss
        gc.collect()
        assert gone() is None
    last = (weight * 4).sum()
    assert last_loss(run, agent, last) == 8.0


def test_a_loss_that_is_known_between_steps_is_reported(agent: ListeningSocket) -> None:
    """Frameworks compute it before or after the boundary."""
    run = open_run(agent.path)
    run.step()
    run.note_loss(np.float64(0.5))
    run.step()
    assert steps_of(agent.lines())[-1]["loss"] == 0.5


def test_steps_without_a_loss_keep_the_newest(agent: ListeningSocket) -> None:
    """Scripts that pass one at each tenth step have a loss in each report."""
    run = open_run(agent.path)
    assert last_loss(run, agent, 2.5, None, None) == 2.5
