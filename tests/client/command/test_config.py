import json
import tomllib
from pathlib import Path

import pytest

from flyball.command import run


def test_values_are_shown_with_their_origins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and line, variable, command line or default."""
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
def test_what_is_shown_is_a_file_that_would_be_taken(
    daemon: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output is TOML with the same values."""
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert run(["config", "show", daemon, "--config", str(empty)]) == 0
    first = capsys.readouterr().out
    assert tomllib.loads(first)
    again = tmp_path / "again.toml"
    again.write_text(first)
    assert run(["config", "show", daemon, "--config", str(again)]) == 0
    assert tomllib.loads(capsys.readouterr().out) == tomllib.loads(first)


def test_a_mistake_is_told_with_status_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, line, key, and the nearest one."""
    file = tmp_path / "agent.toml"
    file.write_text("[spool]\nmax_byte = 5\n")
    assert run(["config", "show", "agent", "--config", str(file)]) == 2
    assert f"{file}:2: there is no setting spool.max_byte; did you mean spool.max_bytes?" in capsys.readouterr().err
