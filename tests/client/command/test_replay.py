"""`flyball replay`."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flyball.command import replay
from flyball_collector.replay.input_options import InputFormat
from tests.client.terminal import terminal

FLYBALL = Path(sys.executable).parent / "flyball"


def flyball(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FLYBALL, "replay", *arguments], capture_output=True, text=True, check=False, timeout=60)


def called(*arguments: str | Path, columns: int = 0) -> str:
    """Return the output of the command in this process, for a pipe or a terminal."""
    app = typer.Typer()
    app.command()(replay.replay)
    return CliRunner().invoke(app, list(map(str, arguments)), env=terminal(columns) if columns else {}).stdout


@pytest.fixture
def filling(tmp_path: Path) -> Path:
    """Write the series of a host whose memory is steady and then fills within seconds."""
    noise = random.Random(1)
    ratios = [0.4 + noise.uniform(-0.005, 0.005) for _ in range(120)] + [0.4 + 0.06 * n for n in range(1, 11)]
    path = tmp_path / "filling.csv"
    lines = [f"{1000 + second},node,{ratio:.4f}" for second, ratio in enumerate(ratios)]
    path.write_text("\n".join(["timestamp,host,memory_used_ratio", *lines, ""]), encoding="utf-8")
    return path


def test_a_quiet_recording_has_no_events(tmp_path: Path) -> None:
    """One line instead of a table without rows."""
    path = tmp_path / "quiet.csv"
    path.write_text("timestamp,host,memory_used_ratio,gpu_tempreture_celsius\n1,a,0.4,1\n2,a,0.4,1\n", encoding="utf-8")
    assert called(path) == "No events.\n"
    assert "'gpu_tempreture_celsius'; did you mean 'gpu_temperature_celsius'?" in flyball(path).stderr


def test_events_are_one_json_array_in_the_inputs_time(filling: Path) -> None:
    """Memory that fills within ten seconds is reported before it is full, at a time of the input."""
    done = flyball("--format", "json", filling)
    assert done.returncode == 0, done.stderr
    raised = [e for e in json.loads(done.stdout) if (e["kind"], e["state"]) == ("memory_exhaustion", "raised")]
    assert len(raised) == 1
    event = raised[0]
    assert event["host"] == "node"
    assert event["gpu"] is None
    assert isinstance(event["time"], int)
    assert 1120 <= event["time"] < 1130
    assert event["severity"] in {"warning", "critical"}
    assert 0 < event["confidence"] <= 1
    assert 0 <= event["seconds_left"] < 60
    assert event["because"]


def test_a_gpu_is_shown_by_its_index(tmp_path: Path) -> None:
    """The table has it beside the host, JSON has name and index; a name that is not a number has no index."""
    head = "timestamp,host,gpu,gpu_utilization_ratio,gpu_power_watts,gpu_power_limit_watts,gpu_temperature_celsius"
    for gpu, index, words in (("3", 3, "node GPU 3"), ("left", None, "node GPU left")):
        path = tmp_path / f"{gpu}.csv"
        seen = [(at, 0.96 + at % 30 / 1000, 390 + at % 70 / 10, 60 + at % 3) for at in range(0, 900, 10)]
        busy = [f"{at},node,{gpu},{use},{watts},400,{heat}" for at, use, watts, heat in seen]
        path.write_text("\n".join([head, *busy, ""]), encoding="utf-8")
        events = json.loads(called("--format", "json", path))
        assert {(event["gpu"], event["gpu_index"]) for event in events} == {(gpu, index)}
        assert words in called(path)


def test_files_of_other_tools_are_read(tmp_path: Path) -> None:
    """By their first line, by the option that names the format, or with the names of their columns."""
    seen = [(at, 97 + at % 3, 390 + at % 70 / 10) for at in range(0, 900, 10)]
    dmon, other = tmp_path / "node-1.txt", tmp_path / "other.csv"
    dmon.write_text("".join(["#Entity GPUTL POWER PMLMT\n", *(f"GPU 0 {use} {watts} 400\n" for _, use, watts in seen)]))
    lines = (f"{at},0,{use},{watts * 1000},400,n\n" for at, use, watts in seen)
    other.write_text("".join(["t,gpu_index,percent,milliwatts,gpu_power_limit_watts,gpu\n", *lines]))
    names = ("timestamp=t", "gpu=gpu_index", "gpu_utilization_ratio=percent*0.01", "gpu_power_watts=milliwatts*0.001")
    columns = [word for name in names for word in ("--column", name)]
    calls: list[list[str | Path]] = [
        ["--every", "10", dmon],
        ["--every", "10", "--from", "dcgmi", dmon],
        [*columns, other],
    ]
    found = [json.loads(called("--format", "json", *arguments)) for arguments in calls]
    events = [[(event["kind"], event["state"], event["gpu"]) for event in each] for each in found]
    assert events[0]
    assert events[0] == events[1] == events[2]
    assert {event["host"] for event in found[0]} == {"node-1"}


def test_the_formats_are_those_of_the_collector() -> None:
    """The option's values are listed in both packages, so that `--help` needs only the client."""
    assert [each.value for each in replay.ReplayFormat] == [each.value for each in InputFormat]


def test_lines_and_table_have_the_same_events(filling: Path) -> None:
    """One JSON object a line, or a table."""
    lines = flyball("--format", "jsonl", filling).stdout.splitlines()
    assert [json.loads(line) for line in lines] == json.loads(flyball("--format", "json", filling).stdout)
    table = flyball(filling).stdout
    assert "memory_exhaustion" in table
    assert table.splitlines()[-1] == f"{len(lines)} event" + ("s" if len(lines) != 1 else "")


def test_a_narrow_terminal_shows_everything(filling: Path) -> None:
    """In 80 columns an event takes several lines, with its state, its kind and every word of the reason."""
    (raised,) = [e for e in json.loads(called("--format", "json", filling)) if e["state"] == "raised"]
    narrow = called(filling, columns=80)
    assert max(map(len, narrow.splitlines())) <= 80
    for word in (raised["state"], raised["kind"], "node", "left", "confidence", *raised["because"].split()):
        assert word in narrow, word


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a file, or a store with --store"),
        (("nowhere.csv",), "there is no file nowhere.csv"),
        (("--store", "sqlite:///nowhere.db", "--host", "a"), "there is no store nowhere.db"),
        (("--store", "sqlite:///nowhere.db"), "--store needs the hosts: add --host"),
        (
            ("--store", "sqlite:///nowhere.db", "--host", "a", "--start", "soon"),
            "--start soon: expected an age such as 30m",
        ),
        (
            ("--store", "sqlite:///nowhere.db", "--host", "a", "--start", "1m", "--end", "2m"),
            "--start 1m is not before --end 2m",
        ),
        (("--store", "sqlite:///nowhere.db", "a.csv"), "--store and a file exclude each other"),
        (("a.csv", "--host", "a"), "--host belongs to --store"),
        (("a.csv", "--column", "gpu"), "'gpu' is not of the form OURS=THEIRS"),
        (("--store", "sqlite:///nowhere.db", "--every", "5"), "--from, --every and --column belong to files"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    """With status 2 and without a traceback."""
    done = flyball(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
