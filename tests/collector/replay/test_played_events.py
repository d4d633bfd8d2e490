"""Events of a replayed file, with the names and times of its input."""

from pathlib import Path

import pytest

from flyball_collector.engine.player import Player, recording
from flyball_collector.replay.csv_rows import opened, rows
from flyball_collector.replay.csv_series import CsvSeries, read
from flyball_collector.replay.played_events import as_written, play_csv
from flyball_collector.replay.sorted_rows import SortedRows


@pytest.mark.parametrize(
    ("text", "value"), [("57", 57), ("0.30", 0.3), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), ("1e3", 1000.0)]
)
def test_times_are_kept_as_written(text: str, value: float | str) -> None:
    """A number stays a number, a date stays text."""
    assert as_written(text) == value


def test_frozen_readings_are_reported_as_stuck_and_not_as_busy(tmp_path: Path) -> None:
    """A GPU with constant readings is no longer reported as busy; the one beside it still is."""
    file = tmp_path / "series.csv"
    lines = ["timestamp,gpu,gpu_utilization_ratio,gpu_power_watts,gpu_power_limit_watts,gpu_temperature_celsius"]
    for at in range(0, 1500, 10):
        for gpu in (0, 1):
            seen = min(at, 400) if gpu else at
            lines.append(f"{at},{gpu},{0.96 + seen % 30 / 1000},{390 + seen % 70 / 10},400,{60 + seen % 3}")
    file.write_text("\n".join(lines) + "\n")

    events = [event for _, played in play_csv(read([file])) for event in played]

    states = [(event["kind"], event["state"]) for event in events if event["gpu"] == "1"]
    assert states == [
        ("bottleneck_gpu_compute", "raised"),
        ("stuck_telemetry", "raised"),
        ("bottleneck_gpu_compute", "cleared"),
    ]
    assert [(event["kind"], event["state"]) for event in events if event["gpu"] == "0"] == states[:1]
    assert {(event["gpu"], event["gpu_index"]) for event in events} == {("0", 0), ("1", 1)}


def test_an_exhaustion_is_cleared_although_other_hosts_report_in_between(tmp_path: Path) -> None:
    """Hosts with samples at different seconds do not keep each other's conditions active."""
    file = tmp_path / "series.csv"
    lines = ["timestamp,host,memory_used_ratio"]
    for number in range(200):
        use = 0.3 if number < 40 or number >= 140 else 0.3 + 0.7 * (number - 40) / 100
        lines += [f"{57 * number},filling,{use:.4f}", f"{57 * number + 21},other,{0.5 + number % 3 / 1000}"]
    file.write_text("\n".join(lines) + "\n")

    events = [event for _, played in play_csv(read([file])) for event in played if event["kind"] == "memory_exhaustion"]

    assert [event["state"] for event in events if event["state"] != "changed"] == ["raised", "cleared"]
    assert events[-1]["time"] in [57 * number for number in range(141, 150)]


def test_times_slightly_below_a_second_are_replayed(tmp_path: Path) -> None:
    """Sums of tenths are never whole seconds; each event still has the time as written in its own sample."""
    file = tmp_path / "series.csv"
    times, at = [], 0.0
    for number in range(400):
        at += 0.1 if number != 200 else 1000.1
        times.append(repr(at))
    file.write_text("timestamp,memory_used_ratio\n" + "".join(f"{time},0.5\n" for time in times))

    events = [event for _, played in play_csv(read([file])) for event in played]

    assert [event["kind"] for event in events if event["state"] == "raised"] == ["data_gap"]
    assert {repr(event["time"]) for event in events} <= set(times)


def test_a_file_gives_the_same_events_however_it_is_read(tmp_path: Path) -> None:
    """In one piece or many, during reading or afterwards, with scores and advice or without."""
    file = tmp_path / "series.csv"
    lines = [f"{10 * n},{host},{min(1.0, 0.5 + n / 300)},0.5,{n}" for host in "ab" for n in range(150)]
    file.write_text("timestamp,worker,memory_used_ratio,step_seconds,step\n" + "\n".join(lines) + "\n")

    whole = [event for _, played in play_csv(read([file])) for event in played]
    with opened(file) as opened_file:
        series = CsvSeries(SortedRows(rows(opened_file, str(file), {}), 7), ())
    pieces = [event for _, played in play_csv(series) for event in played]
    player = Player(recording(list(read([file]).samples())))
    together = [event for _, played in player.play() for event in played]

    assert whole == pieces
    assert [(event["kind"], event["state"], event["host"], event["because"]) for event in whole] == [
        (event.kind.name, event.state.value, event.subject.host, event.because) for event in together
    ]
    assert {event["kind"] for event in whole} == {"memory_exhaustion"}
