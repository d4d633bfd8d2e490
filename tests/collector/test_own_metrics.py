from prometheus_client import generate_latest

from flyball_collector.own_metrics import OwnMetrics


def test_every_metric_has_a_known_prefix() -> None:
    """Names begin with flyball_collector_, except those of the process."""
    families = list(OwnMetrics().registry.collect())
    assert families
    assert all(family.name.startswith(("flyball_collector_", "process_", "python_gc_")) for family in families)
    assert all(family.documentation.endswith(".") for family in families if family.name.startswith("flyball_"))


def test_two_collectors_in_one_process_do_not_share_counts() -> None:
    """Each object has its own registry."""
    one, two = OwnMetrics(), OwnMetrics()
    one.refused.labels("too_old").inc(3)
    assert b'flyball_collector_refused_records_total{reason="too_old"} 3.0' in generate_latest(one.registry)
    assert b"too_old" not in generate_latest(two.registry)
