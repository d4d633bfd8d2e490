"""Service discovery for Prometheus' `http_sd_configs`: every host is a target."""

from collections.abc import Iterable

from flyball_collector.fleet.host import HostState

METRICS_PATH = "/metrics"


def service_discovery(hosts: Iterable[HostState], address: str, scheme: str = "http") -> list[dict[str, object]]:
    """Return one target group for each host, with the collector's address and the host's `instance`."""
    return [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": METRICS_PATH,
                "__param_target": host.name,
                "__scheme__": scheme,
                "instance": host.name,
            },
        }
        for host in hosts
    ]
