"""A real Prometheus finds the hosts by itself, scrapes them, answers questions about them, and alerts by our rules."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from tests.judge import last_sequence
from tests.processes import Agent, Collector, Process, free_port, wait_for

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="prometheus is not installed (make test installs it as root on Debian)",
)

CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: fleet
  honor_labels: true
  static_configs: [{{targets: ['127.0.0.1:{port}']}}]
- job_name: hosts
  http_sd_configs: [{{url: 'http://127.0.0.1:{port}/sd', refresh_interval: 1s}}]
"""

SHIPPED = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = sorted(path.name for path in SHIPPED.glob("*.rules.yml"))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector with one host that has two GPUs."""
    directory = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(directory / "collector")).start_ready()
        standin = StandIn(directory / "gpus", Scenario(gpus=2).set({"temperature": 61}).xid(1, 79, at=3))
        settings = {"nvml_library": standin.library, "interval_seconds": 0.5}
        stack.enter_context(Agent(directory / "agent", collector.grpc_port, settings)).start()
        wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 2)
        yield collector


def test_the_whole_page_passes_promtool(fleet: Collector) -> None:
    """`curl /metrics | promtool check metrics` reports no problem."""
    with urllib.request.urlopen(f"{fleet.url}/metrics", timeout=30) as answer:
        page = answer.read()
    check = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, check=False)
    assert (check.returncode, check.stderr.decode()) == (0, "")
    assert b'flyball_gpu_temperature_celsius{instance="node-1"' in page


def test_prometheus_discovers_scrapes_and_answers(fleet: Collector, tmp_path: Path) -> None:
    """Both ways to scrape give the GPU's temperature, with the host's name as instance."""
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(port=fleet.http_port))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={configuration}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with Process(command, tmp_path / "prometheus.log") as prometheus:
        prometheus.start()
        query = 'flyball_gpu_temperature_celsius{instance="node-1"}'
        answers = wait_for("both jobs answer", lambda: _both(_query(port, query)), pause_seconds=0.5)
        assert {float(answer["value"][1]) for answer in answers} == {61.0}
        up = wait_for("the host is up", lambda: _up(port), pause_seconds=0.5)
        assert [each["metric"]["instance"] for each in up] == ["node-1"]


def test_our_rules_are_evaluated_and_an_xid_rings(fleet: Collector, tmp_path: Path) -> None:
    """With the shipped configuration no rule is in error, and the error that a driver reported reaches the alert."""
    shutil.copytree(SHIPPED, tmp_path / "shipped")
    configuration = tmp_path / "shipped" / "prometheus.yml"
    text = configuration.read_text(encoding="utf-8").replace(":3591", f":{fleet.http_port}").replace("15s", "1s")
    configuration.write_text(text.replace("# - flyball.optional", "- flyball.optional"), encoding="utf-8")
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={configuration}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with Process(command, tmp_path / "prometheus.log") as prometheus:
        prometheus.start()
        ringing = wait_for("the XID rings", lambda: _ringing(port, "FlyballGpuXidCritical"), pause_seconds=0.5)
        assert [(alert["labels"]["instance"], alert["labels"]["code"]) for alert in ringing] == [("node-1", "79")]
        wait_for("the watchdog rings", lambda: _ringing(port, "FlyballWatchdog"), pause_seconds=0.5)
        rules = wait_for("all is evaluated", lambda: _evaluated(port), pause_seconds=0.5)
        assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}
        assert {Path(group["file"]).name for group in _get(port, "rules")["groups"]} == set(RULES)
        firing = {
            alert["labels"]["alertname"] for alert in _get(port, "alerts")["alerts"] if alert["state"] == "firing"
        }
        assert "FlyballScrapeMissing" not in firing
        assert wait_for("it is recorded", lambda: _query(port, "kind:flyball_conditions:count"))


def _ringing(port: int, name: str) -> list[Any]:
    alerts = _get(port, "alerts")["alerts"]
    return [alert for alert in alerts if alert["labels"]["alertname"] == name and alert["state"] == "firing"]


def _up(port: int) -> list[Any]:
    """Return the hosts that were scraped. On a busy machine a scrape can take longer than its second."""
    found = _query(port, 'up{job="hosts"}')
    return [each for each in found if each["value"][1] == "1"]


def _evaluated(port: int) -> list[Any] | None:
    """Every rule, once each has been evaluated."""
    rules = [rule for group in _get(port, "rules")["groups"] for rule in group["rules"]]
    return rules if all(rule["health"] != "unknown" for rule in rules) else None


def _query(port: int, expression: str) -> list[Any]:
    return list(_get(port, "query", query=expression)["result"])


def _get(port: int, path: str, **parameters: str) -> Any:
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)["data"]


def _both(answers: list[Any]) -> list[Any] | None:
    return answers if {answer["metric"]["job"] for answer in answers} == {"fleet", "hosts"} else None
