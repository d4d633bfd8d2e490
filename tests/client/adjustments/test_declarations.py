"""Tests of values that a run declares only when somebody can use them."""

import gc
import weakref
from collections.abc import Callable, Iterator

from flyball.adjustments.value import AdjustableValue
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent

Opened = Callable[..., tuple[AdjustingAgent, Run]]


class NumberedLoader:
    """Has workers, as a loader of PyTorch has."""

    num_workers = 0

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


def declare_calls(adjustments: object) -> None:
    """Declare a value, as a framework's attachment does it."""
    adjustments.add(AdjustableValue("calls", 1, choices=(1, 10)))  # type: ignore[attr-defined]  # what a run passes


def test_values_for_later_are_declared_when_the_agent_allows_adjustments(adjusted: Opened) -> None:
    """A framework's values cost nothing until the agent can use them, and are announced then."""
    agent, run = adjusted()
    run.on_adjustments("framework", declare_calls)
    run.step()
    assert not run.is_adjustable
    agent.allow()
    run.step()
    run.step()
    assert set(agent.values()) == {"throttle", "pause", "calls"}


def test_values_for_later_are_declared_at_once_if_that_was_before(adjusted: Opened) -> None:
    """A framework that is attached to an adjusted run declares its values there and then."""
    _, run = adjusted()
    run.value("workers", 1, choices=(1, 2))
    run.on_adjustments("framework", declare_calls)
    assert "calls" in run.adjustments.values


def test_a_declaration_that_fails_leaves_the_others(adjusted: Opened) -> None:
    """An error of one framework's declaration reaches neither the training nor other declarations."""
    _, run = adjusted()
    run.on_adjustments("broken", lambda adjustments: adjustments.absent())
    run.on_adjustments("framework", declare_calls)
    assert "calls" in run.adjustments.values


def test_a_loader_is_not_kept_alive(adjusted: Opened) -> None:
    """A loader that the script has iterated and let go of is freed, whether the run is adjusted or not."""
    _, run = adjusted()
    for _ in range(2):
        loader = NumberedLoader()
        known = weakref.ref(loader)
        assert list(run.data(loader)) == [1, 2]
        del loader
        gc.collect()
        assert known() is None
        assert set(run.adjustments.values) == {"throttle", "pause"}
