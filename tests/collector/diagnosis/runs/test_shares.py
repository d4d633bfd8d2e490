"""The parts of steps: losses, waits for collectives, unequal work, single slow steps."""

import math

from flyball_collector.engine.testing.runs import brief, play, step


def test_three_invalid_losses_in_a_row() -> None:
    """Two are the skipped steps of a scaler; a finite loss clears."""

    def loss(second: int) -> float:
        return math.nan if second in (10, 11) or 20 <= second < 26 else 2.0

    played, _ = play(1, range(120), lambda rank, second: step(rank, second, 0.5, loss=loss(second)))
    events = brief(played, "loss_not_finite")
    assert [(at, state) for at, _, state, _ in events] == [(22, "raised"), (86, "cleared")]


def test_waiting_of_all_ranks_is_communication() -> None:
    """A rank that waits for a straggler is not slowed by the network; if all ranks wait, it is the network."""

    def all_wait(rank: int, least: float) -> dict[str, float]:
        return {"forward": 0.3, "all_reduce": least if rank == 0 else 0.2}

    slow_net, _ = play(4, range(60), lambda rank, second: step(rank, second, 0.5, section_seconds=all_wait(rank, 0.15)))
    assert [(kind, state) for _, kind, state, _ in brief(slow_net, "bottleneck_communication")] == [
        ("bottleneck_communication", "raised")
    ]
    straggler, _ = play(
        4, range(60), lambda rank, second: step(rank, second, 0.5, section_seconds=all_wait(rank, 0.01))
    )
    assert brief(straggler, "bottleneck_communication") == []


def test_unequal_work_is_reported_unless_it_evens_out() -> None:
    """Means over the latest reports count."""

    def tokens(rank: int, second: int, *, evens_out: bool) -> float:
        return 4096 * (1.3 if (rank + (second if evens_out else 0)) % 4 == 0 else 1.0)

    unequal, _ = play(
        4, range(150), lambda rank, second: step(rank, second, 0.5, tokens=tokens(rank, second, evens_out=False))
    )
    assert [kind for _, kind, _, _ in brief(unequal, "load_imbalance")] == ["load_imbalance"]
    even, _ = play(
        4, range(150), lambda rank, second: step(rank, second, 0.5, tokens=tokens(rank, second, evens_out=True))
    )
    assert brief(even, "load_imbalance") == []


def test_single_slow_steps_are_reported_by_their_cost() -> None:
    """One in ten that takes six times as long counts; one in ten that takes half as long again is not an outlier."""

    def seconds(second: int, factor: float) -> float:
        return 0.5 * (factor if second % 10 == 0 else 1.0 + 0.01 * (second % 3))

    played, _ = play(2, range(100), lambda rank, second: step(rank, second, seconds(second, 6)))
    assert [kind for _, kind, _, _ in brief(played, "step_outliers")] == ["step_outliers"]
    played, _ = play(2, range(100), lambda rank, second: step(rank, second, seconds(second, 1.5)))
    assert brief(played, "step_outliers") == []
