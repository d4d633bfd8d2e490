"""Service discovery: every host as a target of its own, as Prometheus' `http_sd_configs` reads it."""

from collections.abc import Iterable

from flyball_collector.fleet.host import HostState

METRICS_PATH = "/metrics"


def service_discovery(hosts: Iterable[HostState], address: str, scheme: str = "http") -> list[dict[str, object]]:
    """A target group a host: all are asked at the collector's address, each under its own `instance`."""
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
