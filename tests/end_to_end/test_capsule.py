"""An incident of a live fleet in one file replays the same anywhere."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from tests.processes import Agent, Collector, wait_for

FLYBALL = Path(sys.executable).parent / "flyball"


def flyball(*arguments: str, cwd: Path) -> str:
    done = subprocess.run([FLYBALL, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_capsule_of_a_live_incident_plays_again_without_the_collector(tmp_path: Path) -> None:
    """The replayed capsule raises the same event for the same GPU at the same second, without the fleet."""
    standin = StandIn(tmp_path / "gpus", Scenario(gpus=2).xid(0, 79, at=4))
    with (
        Collector(tmp_path / "collector").start_ready() as collector,
        Agent(tmp_path / "agent", collector.grpc_port, {"nvml_library": standin.library}).start(),
    ):
        raised = wait_for("the XID is raised", lambda: _raised(collector, "gpu_xid"))
        flyball("capsule", raised["condition"], "--collector", collector.url, "-o", "x.flyball", cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / "x.flyball") as archive:
        about = json.loads(archive.read("capsule.json"))
    assert about["event"]["kind"] == "gpu_xid"
    assert about["agents"] == {"node-1": about["version"]}
    assert "memory" in about["scores"][0]["base"]
    played = json.loads(flyball("replay", "--format", "json", "x.flyball", cwd=tmp_path))
    again = [event for event in played if event["kind"] == "gpu_xid" and event["state"] == "raised"]
    assert [(event["host"], event["gpu"]) for event in again] == [("node-1", raised["gpu"])]
    assert again[0]["because"] == raised["because"]


def _raised(collector: Collector, kind: str) -> dict[str, Any] | None:
    events = collector.get(f"/api/v1/events?kind={kind}&state=raised")["events"]
    return events[0] if events else None
