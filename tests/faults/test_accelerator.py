"""A GPU or driver fails: other readings continue at their rate, the reason is shown, and the GPU comes back."""

import time
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from tests.faults.conftest import AgentMaker
from tests.judge import assert_pace, last_sequence
from tests.processes import Collector, wait_for

pytestmark = pytest.mark.faults

QUIET = {"utilization": 90, "temperature": 60}


def _unavailable(collector: Collector, host: str = "node-1") -> list[dict[str, Any]]:
    return [s for s in collector.get(f"/api/v1/hosts/{host}")["unavailable"] if s["probe"] == "nvidia"]


def _gpu_value(
    collector: Collector, metric: str = "gpu_temperature_celsius", host: str = "node-1"
) -> list[float | None]:
    readings = collector.get(f"/api/v1/hosts/{host}/latest")["readings"]
    return [reading["value"] for reading in readings if reading["metric"] == metric]


def _reasons(collector: Collector) -> set[str]:
    return {each["reason"] for each in _unavailable(collector)}


@pytest.fixture
def standin(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "gpus", Scenario(gpus=2))


def test_an_nvml_call_that_hangs_leaves_the_other_readings_at_their_pace(
    collector: Collector, make_agent: AgentMaker, standin: StandIn
) -> None:
    """A driver that does not answer for a minute costs its own readings and nobody else's."""
    make_agent(nvml_library=standin.library, probes__time_limit_seconds=0.1).start()
    wait_for("the GPUs are read", lambda: len([v for v in _gpu_value(collector) if v is not None]) == 2)
    standin.play(Scenario(gpus=2).hang("nvmlDeviceGetTemperature", 60).hang("nvmlDeviceGetFieldValues", 60))
    wait_for("the reason is shown", lambda: "timed_out" in _reasons(collector))
    wait_for("no temperature is known", lambda: _gpu_value(collector) == [None, None])
    assert_pace(collector, "node-1", 5)
    standin.play(Scenario(gpus=2))
    wait_for("it recovers with the driver", lambda: None not in _gpu_value(collector))


def test_an_agent_stops_in_time_although_nvml_hangs(
    collector: Collector, make_agent: AgentMaker, standin: StandIn
) -> None:
    """A thread stuck in the driver cannot keep the agent from ending."""
    agent = make_agent(nvml_library=standin.library).start()
    wait_for("the GPUs are read", lambda: _gpu_value(collector) != [])
    standin.play(Scenario(gpus=2).hang("nvmlDeviceGetTemperature", 600).hang("nvmlDeviceGetFieldValues", 600))
    wait_for("it hangs", lambda: "timed_out" in _reasons(collector))
    agent.stop(seconds=30)  # the driver hangs for ten minutes


def test_a_lost_gpu_is_reported_while_its_neighbour_is_read_and_comes_back(
    collector: Collector, make_agent: AgentMaker, standin: StandIn
) -> None:
    """One GPU falls off the bus; the other is read as before."""
    make_agent(nvml_library=standin.library).start()
    wait_for("both are read", lambda: len([v for v in _gpu_value(collector) if v is not None]) == 2)
    standin.play(Scenario(gpus=2).lose(1))
    wait_for("one is unknown", lambda: sum(v is None for v in _gpu_value(collector)) == 1)
    wait_for("the reason is shown", lambda: any("lost" in each["detail"].lower() for each in _unavailable(collector)))
    standin.play(Scenario(gpus=2))
    wait_for("both again", lambda: _gpu_value(collector) and None not in _gpu_value(collector))


def test_a_driver_reload_is_survived(collector: Collector, make_agent: AgentMaker, standin: StandIn) -> None:
    """The driver is unloaded and loaded again under the running agent."""
    make_agent(nvml_library=standin.library).start()
    wait_for("both are read", lambda: len([v for v in _gpu_value(collector) if v is not None]) == 2)
    standin.play(Scenario(gpus=2).unload_driver())
    wait_for("the reason is shown", lambda: bool(_unavailable(collector)) and not any(_gpu_value(collector)))
    standin.play(Scenario(gpus=2))
    wait_for("both again", lambda: len([v for v in _gpu_value(collector) if v is not None]) == 2)


def test_an_xid_is_shown_and_outlives_the_collector(
    collector: Collector, make_agent: AgentMaker, standin: StandIn
) -> None:
    """An XID is shown at its host, even if it came while no collector ran, and after a restart of the collector."""
    began = time.monotonic()
    scenario = Scenario(gpus=2).started_at(began)
    standin.play(scenario)
    make_agent(nvml_library=standin.library).start()
    wait_for("the GPUs are read", lambda: len([v for v in _gpu_value(collector) if v is not None]) == 2)
    standin.play(scenario.xid(gpu=1, code=79, at=time.monotonic() - began))
    wait_for("the XID is shown", lambda: _xids(collector) == [79])
    collector.kill()
    standin.play(scenario.xid(gpu=0, code=31, at=time.monotonic() - began))
    time.sleep(1)
    collector.start_ready()
    wait_for("both XIDs are shown once, the newer one first", lambda: _xids(collector) == [31, 79])


def _xids(collector: Collector) -> list[int]:
    events = collector.get("/api/v1/hosts/node-1")["events"]
    return [event["code"] for event in events if event["kind"] == "gpu_xid"]


def test_a_machine_without_a_driver_gives_the_reason_and_a_remedy(collector: Collector, make_agent: AgentMaker) -> None:
    """No GPU is a normal machine: everything else is read, and the unavailable reading is explained."""
    make_agent().start()
    wait_for("the host reports", lambda: last_sequence(collector, "node-1") > 2)
    (missing,) = wait_for("the reason is shown", lambda: _unavailable(collector))
    assert missing["reason"] == "absent"
    assert missing["detail"]
