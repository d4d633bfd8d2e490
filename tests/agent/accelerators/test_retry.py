"""Patience with what keeps failing."""

from flyball_agent.accelerators.retry import Retry


def test_waits_double_up_to_the_longest_and_begin_anew() -> None:
    """1, 2, 4, 5, 5 seconds; after a success 1 again."""
    retry = Retry(1.0, 5.0)
    waits = []
    for now in (0, 10, 20, 30, 40):
        retry.failed(now)
        waits.append(retry.at - now)
    retry.succeeded()
    retry.failed(50)
    assert [*waits, retry.at - 50] == [1, 2, 4, 5, 5, 1]
