"""Tests of growing intervals between attempts."""

from flyball_agent.accelerators.retry import Retry


def test_intervals_double_up_to_the_maximum() -> None:
    """The intervals are 1, 2, 4, 5, 5 seconds, and 1 again after a success."""
    retry = Retry(1.0, 5.0)
    waits = []
    for now in (0, 10, 20, 30, 40):
        retry.failed(now)
        waits.append(retry.at - now)
    retry.succeeded()
    retry.failed(50)
    assert [*waits, retry.at - 50] == [1, 2, 4, 5, 5, 1]
