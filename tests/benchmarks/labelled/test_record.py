"""A recording of the agent's probes can be played into the collector's fleet."""

import gzip
import json
import socket
import time
from pathlib import Path

from flyball_collector.engine.player import Player
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.labelled.record import HOST, Recorder, read, without_reports


def test_a_recording_holds_readings_and_step_reports(tmp_path: Path) -> None:
    """Readings of this machine, and a training's steps, which a second agent knows nothing of; nothing from before."""
    with Recorder(tmp_path / "s", "http://127.0.0.1:9/health") as recorder, socket.socket(socket.AF_UNIX) as training:
        time.sleep(1.2)
        begun_ns = time.time_ns()
        recorder.begin()
        training.connect(str(tmp_path / "s"))
        hello = {"kind": "hello", "run": "r"}
        steps = {"kind": "steps", "step": 7, "steps": 7, "step_seconds": 0.7, "section_seconds": {"forward": 0.5}}
        training.sendall("".join(json.dumps(line) + "\n" for line in (hello, steps)).encode())
        time.sleep(2.5)
        recorder.end(tmp_path / "e.spool")
    recorded = read(tmp_path / "e.spool")
    assert recorded.ticks
    assert all(tick.agent_ns > begun_ns for tick in recorded.ticks)
    player, reports = Player(recorded), []
    for ticks, _ in player.play():
        reports += [report for tick in ticks if tick.parsed_extras is not None for report in tick.parsed_extras.steps]
    view = player.diagnosis.view
    assert view is not None
    assert [host.host for host in view.hosts.names] == [HOST]
    assert 0 <= view.host("cpu_busy_ratio")[0] <= 1
    assert view.host("memory_available_bytes")[0] > 0
    assert [(report.run, report.step, dict(report.section_seconds)) for report in reports] == [
        ("r", 7, {"forward": 0.5})
    ]
    alone = read(without_reports(tmp_path / "e.spool"))
    assert alone.ticks
    assert all(tick.layout.count == recorded.ticks[-1].layout.count for tick in alone.ticks[-1:])
    assert not any(tick.extras and pb.Record.FromString(tick.extras).steps for tick in alone.ticks)


def test_of_what_was_not_begun_nothing_is_kept(tmp_path: Path) -> None:
    """An empty recording is an empty file of the same form."""
    with Recorder(tmp_path / "s", "http://127.0.0.1:9/health") as recorder:
        time.sleep(1.1)
        recorder.end(tmp_path / "e.spool")
    assert read(tmp_path / "e.spool").ticks == []


def test_what_is_kept_for_ever_names_nobody() -> None:
    """No process, no user and no path of the machine where it was recorded."""
    for path in Path(__file__).with_name("recorded").glob("*.gz"):
        data = gzip.decompress(path.read_bytes())
        assert b"python" not in data
        assert b"/var/" not in data
        assert read(path).ticks
