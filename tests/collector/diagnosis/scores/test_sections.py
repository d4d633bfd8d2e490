"""What the sections of steps are for."""

import pytest

from flyball_collector.diagnosis.scores.sections import Shares, part_of, shares


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("data", "data"), ("DataLoader.next", "data"), ("fetch_batch", "data"), ("service", "service"),
        ("mongo_query", "service"), ("all_reduce", "communication"), ("gradient_sync", "communication"),
        ("nccl", "communication"), ("save_checkpoint", "checkpoint"), ("cuda_synchronize", "sync"),
        ("validation", "aside"), ("forward", ""), ("backward", ""), ("optimizer", ""),
    ],
)  # fmt: skip
def test_names_say_what_a_section_is_for(name: str, part: str) -> None:
    """Common names of trainings; the rest is computing."""
    assert part_of(name) == part


def test_shares_of_a_report() -> None:
    """Sections become shares of the steps' time; computing is told per step."""
    told = shares({"data": 0.2, "service": 0.3, "forward": 0.2, "backward": 0.3}, 10, 1.0, None)
    assert told == Shares(0.2, 0.3, 0.0, 0.0, 0.0, pytest.approx(0.05), pytest.approx(0.02), pytest.approx(0.03))  # type: ignore[arg-type]  # approx


def test_what_was_not_told_is_unknown() -> None:
    """Without sections only the wait is known; with others but no data section the wait is not."""
    assert shares({}, 10, 1.0, 0.25) == Shares(data=0.25, data_seconds=0.025)
    assert shares({}, 10, 1.0, None) == Shares()
    told = shares({"forward": 0.5}, 10, 1.0, None)
    assert told is not None
    assert told.data is None
    assert told.service == 0.0
    assert shares({"data": 1.0}, 0, 0.0, None) is None


def test_the_wait_that_is_told_counts_before_a_section_of_that_name() -> None:
    """A section may hold more than waiting."""
    told = shares({"data": 0.6}, 1, 1.0, 0.1)
    assert told is not None
    assert told.data == 0.1
