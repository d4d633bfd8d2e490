"""Limits for each host: records a second, and definitions an hour."""

_HOUR_SECONDS = 3600.0


class TokenBucket:
    """A rate limit that allows a burst of `burst_seconds`."""

    __slots__ = ("_capacity", "_rate", "_then", "_tokens")

    def __init__(self, rate: float, now: float, burst_seconds: float = 10.0) -> None:
        self._rate = rate
        self._capacity = self._tokens = rate * burst_seconds
        self._then = now

    def take(self, count: int, now: float) -> bool:
        """Spend `count` tokens. Return False if that exceeds the rate."""
        self._tokens = min(self._capacity, self._tokens + (now - self._then) * self._rate)
        self._then = now
        if count > self._tokens:
            return False
        self._tokens -= count
        return True


class HourlyQuota:
    """Limits the number of *different* definitions in an hour. Repetitions are free."""

    __slots__ = ("_limit", "_seen", "_started")

    def __init__(self, limit: int, now: float) -> None:
        self._limit = limit
        self._started = now
        self._seen: set[int] = set()

    def allows(self, digest: int, now: float) -> bool:
        """Count a digest. Return False if it exceeds the limit."""
        if now - self._started >= _HOUR_SECONDS:
            self._started = now
            self._seen.clear()
        if digest not in self._seen and len(self._seen) >= self._limit:
            return False
        self._seen.add(digest)
        return True
