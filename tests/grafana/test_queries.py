"""Test that every query of every panel, variable and annotation returns data from a Prometheus that scrapes Flyball."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from flyball_agent.standin.scenarios import start_standin
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.grafana.adjusted_rank import SETTINGS, AdjustedRank
from tests.grafana.dashboards import NAMES, Query, queries, read, variables
from tests.grafana.ill_host import DIVERGED, GPUS, RANKS, RUN, SICK, SLOW, IllHost, uuid
from tests.grafana.linter import selectors
from tests.grafana.prometheus import BadQuery, Prometheus, View
from tests.processes import Agent, Collector, wait_for
from tests.raw_agent import RawAgent, record
from tests.receiver import Receiver

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not installed (make test installs it as root on Debian)"
)

SCENE_SECONDS = 180
SCRAPING = {"fleet": False, "each host": True}
"""The two ways of scraping, as in docs/how-to/prometheus.md; True: each host is a target."""
ALL_QUERIES = [query for name in NAMES for query in queries(name)]

PROBLEM_METRICS = {"flyball_condition_active", "flyball_probe_unavailable"}
"""Metrics that describe problems: a healthy host has no series of them."""


class Scene(NamedTuple):
    """A monitored fleet, scraped in both ways, at the instant at which all data had arrived."""

    prometheuses: dict[str, Prometheus]
    at: float


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Wait until no query is empty, or until time is up; a query that is still empty then fails in its own test."""
    with ExitStack() as stack:
        prometheuses = make_scene(tmp_path_factory.mktemp("scene"), stack)
        deadline, at = time.monotonic() + SCENE_SECONDS, time.time()
        while any(empty(each, ALL_QUERIES, View(), at) for each in prometheuses.values()):
            if time.monotonic() > deadline:
                break
            time.sleep(3)
            at = time.time()
        yield Scene(prometheuses, at)


def make_scene(folder: Path, stack: ExitStack) -> dict[str, Prometheus]:
    """Start a slow and a sick host with every reading and a common run, and a real agent with stand-in GPUs."""
    receiver = stack.enter_context(Receiver(folder / "receiver")).start_listening()
    settings = {
        "notify.webhook.urls": json.dumps([receiver.url]),
        "notify.webhook.group_wait_seconds": 0,
        "diagnosis.runs.straggler_seconds": 5,
        "diagnosis.waste.price_per_gpu_hour": 2.5,
        **SETTINGS,
    }
    collector = stack.enter_context(Collector(folder / "collector", settings)).start_ready()
    send_bad_data(collector.grpc_port)
    real = {"host": "real-1", "nvml_library": start_standin(folder / "gpus", "xid", gpus=2)}
    stack.enter_context(Agent(folder / "agent", collector.grpc_port, real)).start()
    half = RANKS // 2
    stack.enter_context(IllHost(collector.grpc_port, "slow-1", range(half), SLOW))
    diverged = stack.enter_context(AdjustedRank(collector, "sick-1", DIVERGED, pid=2000))
    stack.enter_context(IllHost(collector.grpc_port, "sick-1", range(half, RANKS), SICK, diverged.second))
    found: dict[str, Prometheus] = {}
    for way, each_host in SCRAPING.items():
        prometheus = Prometheus(folder / way.replace(" ", "-"), collector.http_port, each_host=each_host)
        found[way] = stack.enter_context(prometheus).start()
    wait_for("Prometheus answers", lambda: all(each.get("query", query="up") for each in found.values()), seconds=30)
    return found


def send_bad_data(port: int) -> None:
    """Send what the collector refuses and counts: a record that does not fit its layout, and an invalid host name."""
    with RawAgent(port, "rude-1").open() as agent:
        broken = record(agent.epoch, 0)
        broken.values = b"seven.."
        records = pb.Records(epoch=agent.epoch, records=[broken.SerializeToString()])
        agent.send(pb.AgentMessage(records=records))
        agent.wait("it is refused", lambda known: any(each.WhichOneof("kind") == "refused" for each in known.replies))
    with RawAgent(port, "no name").open() as agent:
        agent.wait_ended()


def empty(prometheus: Prometheus, wanted: list[Query], view: View, at: float) -> list[str]:
    """Return the queries that return no data."""
    return [str(each) for each in wanted if not prometheus.values(each, view, at)]


@pytest.mark.parametrize("way", SCRAPING)
@pytest.mark.parametrize("name", NAMES)
def test_every_query_returns_data(scene: Scene, name: str, way: str) -> None:
    """With everything chosen, no query is empty or in error, in both ways of scraping."""
    missing = empty(scene.prometheuses[way], queries(name), View(), scene.at)
    assert not missing, "\n".join(missing)


SOME_GPUS = "(" + "|".join(uuid(host, index) for host in ("sick-1", "slow-1") for index in range(GPUS)) + ")"
SOME = View(
    {
        "job": "(flyball|flyball-collector)",
        "instance": "(sick-1|slow-1)",
        "gpu": SOME_GPUS,
        "run": f"({RUN}|{DIVERGED})",
    }
)


@pytest.mark.parametrize("way", SCRAPING)
@pytest.mark.parametrize("name", ["flyball-host", "flyball-gpu", "flyball-run"])
def test_every_query_follows_the_variables(scene: Scene, name: str, way: str) -> None:
    """With two hosts, their GPUs and their runs chosen by name, every query returns data."""
    missing = empty(scene.prometheuses[way], queries(name), SOME, scene.at)
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("way", SCRAPING)
def test_what_is_not_chosen_is_not_shown(scene: Scene, way: str) -> None:
    """With hosts, GPUs and runs chosen that do not exist, no query returns data."""
    nobody = View({"job": ".+", "instance": "nobody", "gpu": "none", "run": "none", "other": "none"})
    wanted = [each for name in ("flyball-host", "flyball-gpu", "flyball-run") for each in queries(name)]
    found = [each for each in wanted if scene.prometheuses[way].values(each, nobody, scene.at)]
    assert {each.where for each in found} <= {"variable job", "variable instance", "variable run", "variable other"}


@pytest.mark.parametrize("way", SCRAPING)
def test_gpus_are_chosen_by_name_and_queried_by_uuid(scene: Scene, way: str) -> None:
    """The regular expression of the variable extracts a readable name and the UUID from each series."""
    (variable,) = [each for each in variables(read("flyball-gpu")) if each["name"] == "gpu"]
    query = Query("flyball-gpu", "variable gpu", variable["query"], instant=True)
    wanted = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
    found = [wanted.search(series) for series in scene.prometheuses[way].values(query, View(), scene.at)]
    named = {each["text"]: each["value"] for each in found if each is not None}
    assert len(named) == len(found)
    assert named["slow-1 GPU 1"] == uuid("slow-1", 1)
    assert {"real-1 GPU 0", "real-1 GPU 1"} <= set(named)


def test_labels_are_those_of_a_real_agent(scene: Scene) -> None:
    """If a query names a label value, series of a real agent have it, not only those of simulated hosts."""
    prometheus = scene.prometheuses["fleet"]
    unknown = []
    for each in {found for query in ALL_QUERIES for found in selectors(query.expression)}:
        named = [m for m in each.matchers.split(", ") if "$" not in m and "!" not in m and not m.endswith('=""')]
        if not named or each.metric in PROBLEM_METRICS:
            continue
        every = f'{each.metric}{{instance="real-1"}}'
        chosen = f'{each.metric}{{instance="real-1", {", ".join(named)}}}'
        every_found, chosen_found = (
            bool(prometheus.get("query", query=expression, time=str(scene.at))["result"])
            for expression in (every, chosen)
        )
        if every_found and not chosen_found:
            unknown.append(chosen)
    assert unknown == []


def test_a_wrong_query_is_found(scene: Scene) -> None:
    """An unknown metric is reported as empty, and a syntax error as an error."""
    prometheus = scene.prometheuses["fleet"]
    misspelt = Query("board", "panel A", "flyball_gpu_temprature_celsius", instant=False)
    assert empty(prometheus, [misspelt], View(), scene.at) == ["board / panel A"]
    with pytest.raises(BadQuery, match="parse error"):
        prometheus.values(Query("board", "panel B", "sum(flyball_agent_up", instant=True), View(), scene.at)
