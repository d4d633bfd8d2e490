"""Tests of the `flyball-agent` command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flyball_agent.checklist import as_text
from flyball_agent.command import main
from flyball_agent.snapshot import HostSnapshot, ProbeSnapshot
from flyball_proto.layout import Column
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading


def test_once_prints_every_probe(capsys: pytest.CaptureFixture[str]) -> None:
    """The text has names, values and units, and the reasons of unavailable readings."""
    assert main(["--once"]) == 0
    shown = capsys.readouterr().out
    assert "memory_total_bytes" in shown
    assert "GiB" in shown
    assert "nvidia" in shown
    assert "None" not in shown


def test_once_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has base units, labels and null for unknown; each probe has readings or a reason."""
    assert main(["--once", "--format", "json"]) == 0
    snapshot = json.loads(capsys.readouterr().out)
    probes = {probe["probe"]: probe for probe in snapshot["probes"]}
    total = next(each for each in probes["memory"]["readings"] if each["metric"] == "memory_total_bytes")
    assert total["unit"] == "bytes"
    assert total["value"] > 2**20
    assert all(probe["readings"] or probe["unavailable"] for probe in probes.values())


def test_check_prints_reasons_and_remedies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check prints the reasons of unavailable readings and the requirements of the agent."""
    state = f"state_directory={tmp_path}"
    assert main(["--check", "--format", "json", "--set", state, "--set", "collector=127.0.0.1:9"]) == 0
    checked = json.loads(capsys.readouterr().out)
    needs = {need["subject"]: need for need in checked["needs"]}
    assert needs["state_directory"]["fine"]
    assert not needs["collector"]["fine"]
    assert needs["collector"]["remedy"]
    unavailable = [unavailable_reading for probe in checked["probes"] for unavailable_reading in probe["unavailable"]]
    assert all(unavailable_reading["reason"] and unavailable_reading["detail"] for unavailable_reading in unavailable)
    assert main(["--check", "--set", state]) == 0
    assert "✓ memory" in capsys.readouterr().out


def test_check_groups_readings_by_reason() -> None:
    """Readings with the same reason share a line, and a probe that is unavailable as a whole has one line."""
    unlimited = [
        UnavailableReading("cgroup", f"limit_{number}", "", Reason.ABSENT, "no limit is set") for number in range(8)
    ]
    column = Column(gauge("some_bytes", "bytes", "Some."))
    snapshot = HostSnapshot(
        "vm",
        0,
        [
            ProbeSnapshot("cgroup", [(column, 1.0)], unlimited),
            ProbeSnapshot("amd", [], [UnavailableReading("amd", "", "", Reason.ABSENT, "no GPU", "insert one")]),
        ],
        [],
        0.1,
    )
    lines = as_text(snapshot, []).splitlines()
    assert "    limit_0, limit_1, limit_2, limit_3, limit_4, limit_5, 2 more: not present: no limit is set" in lines
    assert "· amd              not present: no GPU → insert one" in lines


def test_check_names_a_resource_once() -> None:
    """Metrics that one GPU lacks for the same reason are listed before its name."""
    missing = [
        UnavailableReading("nvidia", metric, gpu, Reason.UNSUPPORTED, "not supported")
        for gpu, metric in (("GPU-1", "fan"), ("GPU-1", "links"), ("GPU-2", "fan"))
    ]
    snapshot = HostSnapshot("node-1", 0, [ProbeSnapshot("nvidia", [], missing)], [], 0.1)
    assert "    fan, links of GPU-1; fan of GPU-2: not supported" in as_text(snapshot, []).splitlines()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--set", "interval_seconds=0.7"], "expected a divisor of a minute"),
        (["--set", "intervl_seconds=1"], "did you mean"),
        (["--set", "interval_seconds=fast"], "interval_seconds"),
        (["--set", "collector=nowhere"], "host:port"),
        (["--set", "tls.ca_file=ca.pem"], "all three"),
        (["--config", "/nonexistent/agent.toml"], "/nonexistent/agent.toml"),
        (["--set", "probes.latency_targets=ftp://x"], "latency_targets"),
        (["--set", 'probes.disabled=["numaa"]'], "did you mean 'numa'?"),
        (["--set", 'probes.disabled=["spoons"]'], "the probes are cpu, "),
        (["--set", "log_level=debgu"], "did you mean 'debug'?"),
    ],
)
def test_bad_settings_are_one_clear_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 2, and the message has one line with the key, without a traceback."""
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert word in message
    assert len(message.strip().splitlines()) == 1


def test_a_closed_pipe_is_not_an_error() -> None:
    """`flyball-agent --once | head -1` ends without an error."""
    command = f"{sys.executable} -m flyball_agent.command --once | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert ended.stderr == ""
    assert ended.stdout.count("\n") == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """The help contains examples."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "flyball-agent --check" in capsys.readouterr().out
