"""Query a real Prometheus as Grafana does: variables and intervals filled in, over ranges and at instants."""

import json
import math
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.grafana.dashboards import ROOT, Query
from tests.processes import Process, free_port

SCRAPE_SECONDS = 1
RANGE_SECONDS = 60
_LABEL_VALUES = re.compile(r"label_values\((.+), *(\w+)\)")
_QUERY_RESULT = re.compile(r"query_result\((.+)\)")


SHIPPED = ROOT / "deploy" / "prometheus"


class BadQuery(AssertionError):
    """Prometheus rejected a query."""


@dataclass(frozen=True, slots=True)
class View:
    """The values that a user has chosen for variables. `.+` means All."""

    chosen: Mapping[str, str] = field(default_factory=dict)

    def fill(self, expression: str) -> str:
        """Return a query as Grafana sends it."""
        step = max(1, RANGE_SECONDS // 60)
        values = {
            "__rate_interval": f"{max(step + SCRAPE_SECONDS, 4 * SCRAPE_SECONDS)}s",
            "__interval_ms": str(step * 1000),
            "__interval": f"{step}s",
            "__range_s": str(RANGE_SECONDS),
            "__range": f"{RANGE_SECONDS}s",
            **{name: self.chosen.get(name, ".+") for name in ("job", "instance", "gpu", "run", "other")},
        }
        return re.sub(r"\$([a-z_]+)", lambda found: values[found[1]], expression)


class Prometheus(Process):
    """A Prometheus with the shipped configuration and rules, which scrapes each second by default."""

    def __init__(self, folder: Path, collector_port: int, *, each_host: bool, seconds: int = SCRAPE_SECONDS) -> None:
        shutil.copytree(SHIPPED, folder)
        self.port = free_port()
        path = folder / "prometheus.yml"
        shipped = path.read_text(encoding="utf-8")
        path.write_text(configuration(shipped, collector_port, each_host=each_host, seconds=seconds))
        super().__init__(
            [
                "prometheus",
                f"--config.file={path}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            folder / "log",
        )

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.SERVICE_UNAVAILABLE:  # it is starting
                raise
            raise BadQuery(f"{parameters}: {error.read().decode()}") from None

    def values(self, query: Query, view: View, at: float) -> list[str]:
        """Return the result of a query: the values of a variable, or the points of series that are numbers."""
        if found := _LABEL_VALUES.fullmatch(query.expression):
            return [str(each) for each in self._label_values(view.fill(found[1]), found[2], at)]
        if found := _QUERY_RESULT.fullmatch(query.expression):
            return [_as_text(series) for series in self.get("query", query=view.fill(found[1]), time=str(at))["result"]]
        expression = view.fill(query.expression)
        if query.instant:
            found_now = self.get("query", query=expression, time=str(at))["result"]
            return [series["value"][1] for series in found_now if not math.isnan(float(series["value"][1]))]
        answer = self.get("query_range", query=expression, start=str(at - RANGE_SECONDS), end=str(at), step="1")
        points = [point[1] for series in answer["result"] for point in series["values"]]
        return [point for point in points if not math.isnan(float(point))]

    def _label_values(self, selector: str, label: str, at: float) -> list[Any]:
        parameters = {"match[]": selector, "start": str(at - RANGE_SECONDS), "end": str(at)}
        return list(self.get(f"label/{label}/values", **parameters))


def configuration(shipped: str, collector_port: int, *, each_host: bool, seconds: int = SCRAPE_SECONDS) -> str:
    """Return the shipped file for this collector with short intervals. `each_host` uncomments the other scraping."""
    head, scrapes = shipped.split("scrape_configs:\n")
    fleet, hosts = scrapes.split("\n  # - job_name", 1)
    chosen = re.sub(r"^  # ", "  ", "  # - job_name" + hosts, flags=re.MULTILINE) if each_host else fleet
    text = f"{head}scrape_configs:\n{chosen}"
    ports = (":3591", f":{collector_port}"), (":9093", f":{free_port()}")
    for slow, fast in (("15s", f"{seconds}s"), ("30s", "1s"), *ports):
        text = text.replace(slow, fast)
    return text


def _as_text(series: Mapping[str, Any]) -> str:
    """Write a series in the form to which Grafana applies the regular expression of a variable."""
    labels = dict(series["metric"])
    name = labels.pop("__name__", "")
    inner = ", ".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    return f"{name}{{{inner}}} {series['value'][1]} {series['value'][0]}"
