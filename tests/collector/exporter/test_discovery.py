from flyball_collector.exporter.discovery import service_discovery
from flyball_collector.fleet.fleet import Fleet


def test_service_discovery_lists_every_host() -> None:
    """Each host is a target at the collector's address, with its own name."""
    fleet = Fleet()
    for name in ("b", "a"):
        fleet.ensure(name)
    assert service_discovery(fleet.hosts(), "collector:3591", "https") == [
        {
            "targets": ["collector:3591"],
            "labels": {
                "__metrics_path__": "/metrics",
                "__param_target": name,
                "__scheme__": "https",
                "instance": name,
            },
        }
        for name in ("a", "b")
    ]
