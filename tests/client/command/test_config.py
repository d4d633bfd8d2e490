"""`flyball config show`."""

import json
import tomllib
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]


def test_settings_are_shown_with_their_origins(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and line, environment variable, command line or default."""
    file = tmp_path / "agent.toml"
    file.write_text('host = "a"\n[spool]\nmax_bytes = 5\n')
    monkeypatch.setenv("FLYBALL_AGENT_LOG_LEVEL", "debug")
    words = ["config", "show", "agent", "--config", str(file), "--set", "spool.max_bytes=7"]
    assert run([*words, "--format", "json"]) == 0
    shown = {each["key"]: (each["value"], each["origin"]) for each in json.loads(capsys.readouterr().out)}
    assert shown["host"] == ("a", f"{file}:1")
    assert shown["spool.max_bytes"] == (7, "--set")
    assert shown["log_level"] == ("debug", "environment FLYBALL_AGENT_LOG_LEVEL")
    assert shown["compression"] == (False, "default")


@pytest.mark.parametrize("daemon", ["agent", "collector"])
def test_the_output_is_a_valid_settings_file(daemon: str, tmp_path: Path, capsys: Captured) -> None:
    """It is TOML, and loading it gives the same values."""
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert run(["config", "show", daemon, "--config", str(empty)]) == 0
    first = capsys.readouterr().out
    assert tomllib.loads(first)
    again = tmp_path / "again.toml"
    again.write_text(first)
    assert run(["config", "show", daemon, "--config", str(again)]) == 0
    assert tomllib.loads(capsys.readouterr().out) == tomllib.loads(first)


def test_wrong_settings_end_with_status_2(tmp_path: Path, capsys: Captured) -> None:
    """The message has the file, the line, the key and the nearest known one."""
    file = tmp_path / "agent.toml"
    file.write_text("[spool]\nmax_byte = 5\n")
    assert run(["config", "show", "agent", "--config", str(file)]) == 2
    assert f"{file}:2: there is no setting 'spool.max_byte'; did you mean 'spool.max_bytes'?" in capsys.readouterr().err
