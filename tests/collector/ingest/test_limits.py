"""Rate limits: a rate with a burst, and a number an hour."""

from flyball_collector.ingest.limits import HourlyQuota, TokenBucket


def test_a_burst_is_allowed_and_a_flood_is_not() -> None:
    """Ten seconds' worth at once, then the rate."""
    bucket = TokenBucket(10, now=0)
    assert bucket.take(100, 0)
    assert not bucket.take(1, 0)
    assert bucket.take(10, 1)
    assert not bucket.take(1, 1)
    assert bucket.take(100, 1000)
    assert not bucket.take(1, 1000)


def test_repeating_a_definition_is_free() -> None:
    """Only different ones count, and after an hour the count starts again."""
    quota = HourlyQuota(2, now=0)
    assert quota.allows(1, 0)
    assert quota.allows(2, 1)
    assert quota.allows(1, 2)
    assert not quota.allows(3, 3)
    assert quota.allows(3, 3600)
