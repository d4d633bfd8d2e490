"""The command says what it sees, and refuses bad settings in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flyball_agent.checklist import as_text
from flyball_agent.command import main
from flyball_agent.snapshot import ProbeSnapshot, Snapshot
from flyball_proto.layout import Column
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading


def test_once_shows_every_probe(capsys: pytest.CaptureFixture[str]) -> None:
    """People get names, values and units; the silent ones say why."""
    assert main(["--once"]) == 0
    shown = capsys.readouterr().out
    assert "memory_total_bytes" in shown
    assert "GiB" in shown
    assert "nvidia" in shown
    assert "None" not in shown


def test_once_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has base units, labels, and null for unknown; no probe is without readings and without a reason."""
    assert main(["--once", "--format", "json"]) == 0
    snapshot = json.loads(capsys.readouterr().out)
    probes = {probe["probe"]: probe for probe in snapshot["probes"]}
    total = next(each for each in probes["memory"]["readings"] if each["metric"] == "memory_total_bytes")
    assert total["unit"] == "bytes"
    assert total["value"] > 2**20
    assert all(probe["readings"] or probe["unavailable"] for probe in probes.values())


def test_check_names_reason_and_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read says why; what the agent needs is looked at, too."""
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


def test_check_gathers_what_has_one_reason() -> None:
    """Readings that are silent for the same reason share a line; a probe that is silent has one line in all."""
    unlimited = [
        UnavailableReading("cgroup", f"limit_{number}", "", Reason.ABSENT, "no limit is set") for number in range(8)
    ]
    column = Column(gauge("some_bytes", "bytes", "Some."))
    snapshot = Snapshot(
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
    assert "    limit_0, limit_1, limit_2, limit_3, limit_4, limit_5, 2 more: absent: no limit is set" in lines
    assert "· amd              absent: no GPU → insert one" in lines


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--set", "interval_seconds=0.7"], "whole number of intervals"),
        (["--set", "intervl_seconds=1"], "did you mean"),
        (["--set", "interval_seconds=fast"], "interval_seconds"),
        (["--set", "collector=nowhere"], "host:port"),
        (["--set", "tls.ca_file=ca.pem"], "all three"),
        (["--config", "/nonexistent/agent.toml"], "/nonexistent/agent.toml"),
        (["--set", "probes.latency_targets=ftp://x"], "latency_targets"),
        (["--set", 'probes.disabled=["numaa"]'], "did you mean numa?"),
        (["--set", 'probes.disabled=["spoons"]'], "there are cpu, "),
    ],
)
def test_bad_settings_are_one_clear_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, the key by name, no traceback."""
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert word in said
    assert len(said.strip().splitlines()) == 1


def test_a_reader_that_leaves_is_no_fault() -> None:
    """`flyball-agent --once | head -1` ends quietly."""
    command = f"{sys.executable} -m flyball_agent.command --once | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert ended.stderr == ""
    assert ended.stdout.count("\n") == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Help is enough to begin."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "flyball-agent --check" in capsys.readouterr().out
