"""Every query of every panel, variable and annotation finds something in a Prometheus that scraped the product."""

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
from tests.grafana.dashboards import NAMES, Asked, queries, read, variables
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
WAYS = {"fleet": False, "each host": True}
"""Of scraping: docs/prometheus.md tells them."""
EVERYTHING = [asked for name in NAMES for asked in queries(name)]

FOUND_OUT = {"flyball_condition_active", "flyball_probe_unavailable"}
"""What is wrong with a host, not what it is: a healthy one has none of the values."""


class Scene(NamedTuple):
    """A fleet that has been watched for a while, in each way, at the instant at which nothing more was missing."""

    prometheuses: dict[str, Prometheus]
    at: float


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A scene that has gone on until nothing is missing, or long enough: what is missing then fails in its own test."""
    with ExitStack() as stack:
        prometheuses = make_scene(tmp_path_factory.mktemp("scene"), stack)
        deadline, at = time.monotonic() + SCENE_SECONDS, time.time()
        while any(empty(each, EVERYTHING, View(), at) for each in prometheuses.values()):
            if time.monotonic() > deadline:
                break
            time.sleep(3)
            at = time.time()
        yield Scene(prometheuses, at)


def make_scene(folder: Path, stack: ExitStack) -> dict[str, Prometheus]:
    """A slow and a sick host with every reading and a run across both, and a real agent with GPUs of the stand-in."""
    receiver = stack.enter_context(Receiver(folder / "receiver")).start_listening()
    settings = {
        "notify.webhook.urls": json.dumps([receiver.url]),
        "notify.webhook.group_wait_seconds": 0,
        "diagnosis.runs.straggler_seconds": 5,
        "diagnosis.waste.price_per_gpu_hour": 2.5,
    }
    collector = stack.enter_context(Collector(folder / "collector", settings)).start_ready()
    be_rude(collector.grpc_port)
    real = {"host": "real-1", "nvml_library": start_standin(folder / "gpus", "xid", gpus=2)}
    stack.enter_context(Agent(folder / "agent", collector.grpc_port, real)).start()
    half = RANKS // 2
    stack.enter_context(IllHost(collector.grpc_port, "slow-1", range(half), SLOW))
    stack.enter_context(IllHost(collector.grpc_port, "sick-1", range(half, RANKS), SICK))
    found: dict[str, Prometheus] = {}
    for way, each_host in WAYS.items():
        prometheus = Prometheus(folder / way.replace(" ", "-"), collector.http_port, each_host=each_host)
        found[way] = stack.enter_context(prometheus).start()
    wait_for("Prometheus answers", lambda: all(each.get("query", query="up") for each in found.values()), seconds=30)
    return found


def be_rude(port: int) -> None:
    """What the collector refuses, and counts: a record that does not fit its layout, and a host without a name."""
    with RawAgent(port, "rude-1").open() as agent:
        broken = record(agent.epoch, 0)
        broken.values = b"seven.."
        records = pb.Records(epoch=agent.epoch, records=[broken.SerializeToString()])
        agent.send(pb.AgentMessage(records=records))
        agent.wait("it is refused", lambda known: any(each.WhichOneof("kind") == "refused" for each in known.replies))
    with RawAgent(port, "no name").open() as agent:
        agent.wait_ended()


def empty(prometheus: Prometheus, asked: list[Asked], view: View, at: float) -> list[str]:
    """Which of these queries find nothing."""
    return [str(each) for each in asked if not prometheus.values(each, view, at)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_query_finds_something(scene: Scene, name: str, way: str) -> None:
    """With everything chosen, no panel, variable or annotation is empty or in error, however the fleet is scraped."""
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["flyball-host", "flyball-gpu", "flyball-run"])
def test_every_query_follows_the_choice(scene: Scene, name: str, way: str) -> None:
    """Two hosts, their GPUs and their run chosen by name are found as well, for they lack nothing."""
    missing = empty(scene.prometheuses[way], queries(name), SOME, scene.at)
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_chosen_is_not_shown(scene: Scene, way: str) -> None:
    """No query of a host's, a GPU's or a run's dashboard finds anything of hosts that are not there."""
    nobody = View({"job": ".+", "instance": "nobody", "gpu": "none", "run": "none"})
    asked = [each for name in ("flyball-host", "flyball-gpu", "flyball-run") for each in queries(name)]
    found = [each for each in asked if scene.prometheuses[way].values(each, nobody, scene.at)]
    assert {each.where for each in found} <= {"variable job", "variable instance", "variable run"}


@pytest.mark.parametrize("way", WAYS)
def test_gpus_are_chosen_by_name_and_asked_for_by_uuid(scene: Scene, way: str) -> None:
    """The variable's regular expression takes a readable name and the UUID out of each series."""
    (variable,) = [each for each in variables(read("flyball-gpu")) if each["name"] == "gpu"]
    asked = Asked("flyball-gpu", "variable gpu", variable["query"], instant=True)
    wanted = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
    found = [wanted.search(series) for series in scene.prometheuses[way].values(asked, View(), scene.at)]
    named = {each["text"]: each["value"] for each in found if each is not None}
    assert len(named) == len(found)
    assert named["slow-1 GPU 1"] == uuid("slow-1", 1)
    assert {"real-1 GPU 0", "real-1 GPU 1"} <= set(named)


def test_labels_are_those_of_a_real_agent(scene: Scene) -> None:
    """Where a query names a label's value, a real agent's series have it: not only our made-up hosts'."""
    ask = scene.prometheuses["fleet"]
    unknown = []
    for each in {found for asked in EVERYTHING for found in selectors(asked.expression)}:
        named = [m for m in each.matchers.split(", ") if "$" not in m and "!" not in m and not m.endswith('=""')]
        everything = f'{each.metric}{{instance="real-1"}}'
        if named and each.metric not in FOUND_OUT and ask.get("query", query=everything, time=str(scene.at))["result"]:
            query = f'{each.metric}{{instance="real-1", {", ".join(named)}}}'
            if not ask.get("query", query=query, time=str(scene.at))["result"]:
                unknown.append(query)
    assert unknown == []


def test_a_wrong_query_would_be_found(scene: Scene) -> None:
    """A metric that nobody has is told as empty, and what is no query as an error."""
    ask = scene.prometheuses["fleet"]
    misspelt = Asked("board", "panel A", "flyball_gpu_temprature_celsius", instant=False)
    assert empty(ask, [misspelt], View(), scene.at) == ["board / panel A"]
    with pytest.raises(BadQuery, match="parse error"):
        ask.values(Asked("board", "panel B", "sum(flyball_agent_up", instant=True), View(), scene.at)
