"""Quarantine: samples of refused records, few and small."""

import msgspec

from flyball_collector.ingest.quarantine import SLOTS, Quarantine, QuarantineSample


def test_samples_are_few_and_small() -> None:
    """One a second for each reason, 4 KiB each, in a ring."""
    kept: dict[str, bytes] = {}
    quarantine = Quarantine(lambda _kind, name, body: kept.update({name: body}))
    for now in range(SLOTS + 10):
        for _ in range(5):
            quarantine.sample("host1", b"e" * 16, "values", "wrong", bytes(100_000), 7, float(now))
    assert len(kept) == SLOTS
    sample = msgspec.json.decode(kept["000"], type=QuarantineSample)
    assert (sample.host, sample.reason, sample.size_bytes) == ("host1", "values", 100_000)
    assert len(sample.base64) < 6000
    quarantine.sample("host1", b"", "time", "another reason is not held back", b"x", 7, float(SLOTS + 9))
    assert msgspec.json.decode(kept["010"], type=QuarantineSample).reason == "time"
