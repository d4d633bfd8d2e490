"""The parts of a step that its sections belong to."""

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
def test_names_show_the_part_of_a_section(name: str, part: str) -> None:
    """These are common names in trainings; all others are computing."""
    assert part_of(name) == part


def test_shares_of_a_report() -> None:
    """Sections become shares of the step time; computing is in seconds a step."""
    found = shares({"data": 0.2, "service": 0.3, "forward": 0.2, "backward": 0.3}, 10, 1.0, None)
    assert found == Shares(0.2, 0.3, 0.0, 0.0, 0.0, pytest.approx(0.05), pytest.approx(0.02), pytest.approx(0.03))  # type: ignore[arg-type]  # approx


def test_missing_sections_are_unknown() -> None:
    """Without sections, only the wait is known; with others but no data section, the wait is unknown."""
    assert shares({}, 10, 1.0, 0.25) == Shares(data=0.25, data_seconds=0.025)
    assert shares({}, 10, 1.0, None) == Shares()
    found = shares({"forward": 0.5}, 10, 1.0, None)
    assert found is not None
    assert found.data is None
    assert found.service == 0.0
    assert shares({"data": 1.0}, 0, 0.0, None) is None


def test_the_reported_wait_is_preferred_to_a_section() -> None:
    """A section may contain more than waiting."""
    found = shares({"data": 0.6}, 1, 1.0, 0.1)
    assert found is not None
    assert found.data == 0.1
