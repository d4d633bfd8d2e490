"""The metrics publisher: each count of ingest is exported once."""

from collections import Counter
from dataclasses import fields

from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.metrics_publisher import MetricsPublisher
from flyball_collector.own_metrics import OwnMetrics


def counted(metrics: OwnMetrics) -> list[float]:
    """Return the values of all own counters above zero."""
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    own = (each for each in samples if each.name.startswith("flyball_collector_") and each.name.endswith("_total"))
    return sorted(each.value for each in own if each.value)


def test_every_count_is_exported_once() -> None:
    """A different number in each field appears in exactly one metric, and then grows by the difference."""
    counts, metrics = Counts(), OwnMetrics()
    publisher, expected = MetricsPublisher(counts, metrics), []
    for number, field in enumerate(fields(Counts), 1000):
        held = getattr(counts, field.name)
        if isinstance(held, Counter):
            held["some"] = number
        elif isinstance(held, int):
            setattr(counts, field.name, number)
        else:
            continue
        expected.append(float(number))
    publisher.publish()
    assert counted(metrics) == expected
    publisher.publish()
    assert counted(metrics) == expected
    counts.builder_failures += 1
    publisher.publish()
    assert sum(counted(metrics)) == sum(expected) + 1
